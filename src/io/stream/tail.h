// SPDX-License-Identifier: Apache-2.0
// The last lines that a program wrote, within bounds: the oldest line is dropped when there are too many.
#pragma once
#include "base/str.h"

struct tail;

enum { TAIL_LINES = 200, TAIL_BYTES = 64 << 10 };

struct tail *tail_new(void);
void tail_free(struct tail **t);

// Copies the line.
void tail_add(struct tail *t, int64_t wall_ms, str line);

struct tail_line {
  uint64_t number;  // from 1, counts every line that was ever added
  int64_t wall_ms;
  str text;
};

// Reads the first kept line whose number is larger than `after`. Returns false if there is no such line.
bool tail_next(const struct tail *t, uint64_t after, struct tail_line *out);
uint64_t tail_last(const struct tail *t);  // number of the newest line; 0: none
