// SPDX-License-Identifier: Apache-2.0
// The first rows of many, in the order of a column: numbers before text, nothing last, and rows that are alike as they
// came. Only about twice as many are kept as are wanted.
#pragma once
#include "result/table/sheet.h"

struct sorted_row {
  const char *begin;
  size_t row;
  struct cell key;  // what it is sorted by
  int kind;
  double number;
};

struct row_sort {
  bool descending;
  size_t most;  // so many are wanted
  struct sorted_row *list;
  size_t count, room;
  bool cut;              // so many were seen that only what comes before the last one matters
  struct arena scratch;  // texts that are compared
};

void row_sort_init(struct row_sort *s, size_t most, bool descending);
void row_sort_done(struct row_sort *s);

// The key must stay where it is.
void row_sort_add(struct row_sort *s, const char *begin, size_t row, const struct cell *key);

// Leaves the first ones out; those behind them, up to the most that are wanted, are then in order in the list.
void row_sort_finish(struct row_sort *s, size_t start);
