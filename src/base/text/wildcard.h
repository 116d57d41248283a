// SPDX-License-Identifier: Apache-2.0
// Patterns as shells have them for names of files: `*` any run of characters, `?` one, `[abc]` and `[a-z]` one of
// these, `[!abc]` one that is none of these. Everything else, and a `[` without its `]`, stands for itself.
#pragma once
#include "base/str.h"

// The whole text matches, case-sensitive, character by character of UTF-8. Takes at most pattern.n * text.n steps.
bool wildcard_match(str pattern, str text);
