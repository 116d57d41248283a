// SPDX-License-Identifier: Apache-2.0
// Statistics of a column: counts, sums, extremes, and its different values up to a limit.
#pragma once
#include "result/table/sheet.h"

enum { TALLY_VALUES = 4096 };  // limit of different values

struct tally_value {
  struct cell cell;  // its first occurrence
  uint64_t hash;
  size_t count;
  double number;  // of tally_add, if it is one
  bool is_number;
};

struct tally {
  size_t count, nulls;  // number of cells, and of empty ones
  size_t numbers;
  double min, max, sum;        // of the numbers
  struct cell least, most;     // of cells that are not numbers, by their text
  struct tally_value *values;  // in the order of their first occurrence
  size_t distinct;
  bool more;  // there are values beyond the limit
  uint32_t *slots;
};

void tally_init(struct tally *t);
void tally_done(struct tally *t);
void tally_add(struct tally *t, const struct cell *c, struct arena *scratch);

// Returns the entry of a cell's value, adding it if it is new; NULL beyond the limit.
struct tally_value *tally_value(struct tally *t, const struct cell *c);

// Returns the most frequent values, equally frequent ones in the order of their first occurrence, and their number.
size_t tally_top(const struct tally *t, const struct tally_value **out, size_t max);
