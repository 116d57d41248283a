// SPDX-License-Identifier: Apache-2.0
// Extracts short statements from a result: lines of the form "name: value", shorter than SUMMARY_FACT_CHARS, that are
// not addresses, times of day, JSON or code. Duplicates are left out.
#pragma once
#include "result/summary/summary.h"
#include "json/json.h"

struct facts {
  str list[SUMMARY_FACTS];
  size_t count;
};

// Reads the beginning of the text only.
void facts_of_lines(str text, struct facts *f);

// Adds strings, numbers and booleans of the first members of an object, which may be NULL, as "name: value".
void facts_of_members(const struct json *object, struct arena *a, struct facts *f);

// Returns false if the fact is a duplicate or the list is full.
bool facts_add(struct facts *f, str fact);
