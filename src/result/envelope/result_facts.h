// SPDX-License-Identifier: Apache-2.0
// Extracts facts from a result: lines of the form "name: value" that are shorter than SUMMARY_FACT_CHARS and are not
// addresses, times of day, JSON or code. Duplicates are left out.
#pragma once
#include "result/summary/summary.h"
#include "json/json.h"

struct facts {
  str list[SUMMARY_FACTS];
  size_t count;
};

// Adds the facts found at the beginning of the text.
void facts_of_lines(str text, struct facts *f);

// Adds the first members of an object that are strings, numbers or booleans, as "name: value". `object` may be NULL.
void facts_of_members(const struct json *object, struct arena *a, struct facts *f);

// Adds a fact. Returns false if the fact is a duplicate or the list is full.
bool facts_add(struct facts *f, str fact);
