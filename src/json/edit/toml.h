// SPDX-License-Identifier: Apache-2.0
// Converts TOML 1.0 to JSON text, and records the lines of every key, so that a caller can remove some keys and leave
// all other lines unchanged.
//
// The parser is strict: it rejects everything that the specification calls invalid. Dates, times, inf and nan become
// strings.
#pragma once
#include "base/arena.h"
#include "base/fault.h"

enum { TOML_DEEPEST = 32, TOML_PART_KEYS = 2, TOML_MOST_PAIRS = 20000 };

// A part of the text, in whole lines: the header of a table, or a key with its value.
struct toml_part {
  str keys[TOML_PART_KEYS];  // the first keys of the part's full path, unescaped; unused elements are empty
  size_t depth;              // number of keys of the full path
  size_t from, to;           // offsets of the start of the first line and of the end of the last line
};

struct toml {
  str json;  // JSON text of an object
  struct toml_part *parts;
  size_t count, cap;
};

// Parses a text. The result is allocated in the arena. On failure, returns false; `f` has a message and the path "line
// L, column C".
bool toml_read(struct arena *a, str text, struct toml *out, struct fault *f);

// toml_without returns the text without the parts for which `drop` returns true. Lines between two adjacent dropped
// parts, such as comments, are removed, too.
typedef bool toml_drop(void *ctx, const struct toml_part *part);
str toml_without(struct arena *a, str text, const struct toml *t, toml_drop *drop, void *ctx);
