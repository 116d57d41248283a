// SPDX-License-Identifier: Apache-2.0
// Reads TOML 1.0 into JSON text, with the place of every line, so that lines can be removed and all others stay.
//
// Strict: rejects what the specification calls invalid, with its line. Dates, times, inf and nan become strings.
#pragma once
#include "base/arena.h"
#include "base/fault.h"

enum { TOML_DEEPEST = 32, TOML_PART_KEYS = 2, TOML_MOST_PAIRS = 20000 };

// The header of a table, or a key with its value: whole lines of the text.
struct toml_part {
  str keys[TOML_PART_KEYS];  // first keys of the full path, unescaped; empty beyond its end
  size_t depth;              // number of keys of the full path
  size_t from, to;           // from the start of the first line to the start of the next
};

struct toml {
  str json;  // an object
  struct toml_part *parts;
  size_t count, cap;
};

// Reads a text into the arena. False: f has the error, with the path "line L, column C".
bool toml_read(struct arena *a, str text, struct toml *out, struct fault *f);

// Returns the text without the parts for which `drop` returns true. Lines between two dropped neighbours go too.
typedef bool toml_drop(void *ctx, const struct toml_part *part);
str toml_without(struct arena *a, str text, const struct toml *t, toml_drop *drop, void *ctx);
