// SPDX-License-Identifier: Apache-2.0
// Statistics of a column: counts, sum, minimum and maximum, and the different values up to a limit.
#pragma once
#include "result/table/sheet.h"

enum { TALLY_VALUES = 4096 };  // maximum number of different values

struct tally_value {
  struct cell cell;  // the first cell with this value
  uint64_t hash;
  size_t count;
  double number;  // set by tally_add if is_number
  bool is_number;
};

struct tally {
  size_t count, nulls;  // number of cells, and of empty cells
  size_t numbers;
  double min, max, sum;        // values of the cells that are numbers
  struct cell least, most;     // first and last text in bytewise order, of the cells that are not numbers
  struct tally_value *values;  // different values, in the order of their first occurrence
  size_t distinct;
  bool more;  // the column has more than TALLY_VALUES different values
  uint32_t *slots;
};

void tally_init(struct tally *t);
void tally_done(struct tally *t);
void tally_add(struct tally *t, const struct cell *c, struct arena *scratch);

// Returns the entry of a cell's value, and adds it if it is new. Returns NULL if the tally cannot hold another value.
struct tally_value *tally_value(struct tally *t, const struct cell *c);

// Sets out[] to the `max` most frequent values, or fewer if there are fewer. Equally frequent values are in the order
// of their first occurrence. Returns the number of values in out[].
size_t tally_top(const struct tally *t, const struct tally_value **out, size_t max);
