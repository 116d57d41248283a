// SPDX-License-Identifier: Apache-2.0
// Finds facts in a text. A fact is a line of the form `key: value`, or an entry of a list.
#pragma once
#include "base/arena.h"

enum { FACTS_MOST = 64, FACT_CHARS = 200 };

// Finds at most `max` facts, in this order: lines `key: value` or `key = value`, numbered entries, entries after -, *
// or •. Returns the number of facts. Keys are in lower case with underscores; a repeated key gives one fact: with the
// last value, at the position of the first. Facts are unique, not empty and shorter than FACT_CHARS characters. Only
// the beginning of a long text is read.
size_t facts_extract(str text, struct arena *a, str *out, size_t max);
