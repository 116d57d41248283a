// SPDX-License-Identifier: Apache-2.0
// What stands for a result that is too long to be passed on: the text whose beginning is shown, and short facts.
#pragma once
#include "result/parts.h"

enum { SUMMARY_FACTS = 20, SUMMARY_FACT_CHARS = 200 };

// The text that is shown: that of the parts; else a line for each member of the structured content; else the structured
// content, or whatever the content is, as JSON; else "(no content)". A slice of the result, or in the arena.
str summary_text(const struct json *result, const struct parts *parts, struct arena *a);

// Lines of the text that have a colon and fewer than SUMMARY_FACT_CHARS characters, without blanks around; then the
// members of the structured content that are as short. At most `max`, not more than `tokens` in all. Gives how many.
size_t summary_facts(const struct parts *parts, bool structured_too, size_t tokens, struct arena *a, str *out,
                     size_t max);

// One line without control characters, at most `max` bytes; with an ellipsis when it was longer.
str summary_line(str text, size_t max, struct arena *a);
