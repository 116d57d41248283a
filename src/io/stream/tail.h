// SPDX-License-Identifier: Apache-2.0
// Stores the last lines that a program wrote. When there are too many lines or bytes, drops the oldest lines.
#pragma once
#include "base/str.h"

struct tail;

enum { TAIL_LINES = 200, TAIL_BYTES = 64 << 10 };

struct tail *tail_new(void);
void tail_free(struct tail **t);

// Copies the line.
void tail_add(struct tail *t, int64_t wall_ms, str line);

struct tail_line {
  uint64_t number;  // position among all lines that were ever added; the first is 1
  int64_t wall_ms;
  str text;
};

// Returns the first stored line whose number is larger than `after`. Returns false if there is no such line.
bool tail_next(const struct tail *t, uint64_t after, struct tail_line *out);
uint64_t tail_last(const struct tail *t);  // number of the newest line, or 0 if there are no lines
