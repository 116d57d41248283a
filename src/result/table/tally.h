// SPDX-License-Identifier: Apache-2.0
// What the cells of a column are: counted, added up, and their different values told apart as long as these are few.
#pragma once
#include "result/table/sheet.h"

enum { TALLY_VALUES = 4096 };  // different values that are told apart; of more it is only known that they are more

struct tally_value {
  struct cell cell;  // as it was first seen
  uint64_t hash;
  size_t count;
  double number;  // what tally_add read it as, when it is one
  bool is_number;
};

struct tally {
  size_t count, nulls;  // cells, and those with nothing in them
  size_t numbers;
  double min, max, sum;        // of the numbers
  struct cell least, most;     // of what is no number, by its text
  struct tally_value *values;  // in the order in which they were first seen
  size_t distinct;
  bool more;  // than can be told apart
  uint32_t *slots;
};

void tally_init(struct tally *t);
void tally_done(struct tally *t);
void tally_add(struct tally *t, const struct cell *c, struct arena *scratch);

// The value that this cell is; NULL when there are too many to tell.
struct tally_value *tally_value(struct tally *t, const struct cell *c);

// The values that occur most often, those that were seen first first. Gives how many.
size_t tally_top(const struct tally *t, const struct tally_value **out, size_t max);
