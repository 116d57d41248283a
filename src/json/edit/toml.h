// SPDX-License-Identifier: Apache-2.0
// TOML 1.0 as JSON text, with the place of every line, so that lines can be taken out of a file and all else stays.
//
// Strict: what the specification calls invalid is refused, with its line. Dates and times become text, inf and nan too.
#pragma once
#include "base/arena.h"
#include "base/fault.h"

enum { TOML_DEEPEST = 32, TOML_PART_KEYS = 2, TOML_MOST_PAIRS = 20000 };

// The header of a table, or a key with its value: whole lines of the text.
struct toml_part {
  str keys[TOML_PART_KEYS];  // the first keys of its full path, unescaped; empty: it has no more
  size_t depth;              // number of keys of the full path
  size_t from, to;           // from the beginning of its first line to the beginning of the next
};

struct toml {
  str json;  // an object
  struct toml_part *parts;
  size_t count, cap;
};

// All in the arena. False: f says what is wrong; its path is "line L, column C".
bool toml_read(struct arena *a, str text, struct toml *out, struct fault *f);

// The text without some of its parts. What stands between two parts that go, and no part stays between, goes too.
typedef bool toml_drop(void *ctx, const struct toml_part *part);
str toml_without(struct arena *a, str text, const struct toml *t, toml_drop *drop, void *ctx);
