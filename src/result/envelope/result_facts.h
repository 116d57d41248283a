// SPDX-License-Identifier: Apache-2.0
// Short statements out of a result. A line of a text is one when it says "something: something", is shorter than
// SUMMARY_FACT_CHARS, and is no noise: no address, no time of day, no piece of JSON or of a program. What was said
// already is left out.
#pragma once
#include "result/summary/summary.h"
#include "json/json.h"

struct facts {
  str list[SUMMARY_FACTS];
  size_t count;
};

// Looks at the beginning of the text only.
void facts_of_lines(str text, struct facts *f);

// Strings, numbers and truth values among the first members of an object (NULL: none): "name: value".
void facts_of_members(const struct json *object, struct arena *a, struct facts *f);

// False when it was there already, or there is no room.
bool facts_add(struct facts *f, str fact);
