// SPDX-License-Identifier: Apache-2.0
// Finds the first rows of a large table in the order of a column: numbers before text, empty cells last. Equal rows
// stay in the order of the table. Holds at most about twice as many rows as are wanted.
#pragma once
#include "result/table/sheet.h"

struct sorted_row {
  const char *begin;
  size_t row;
  struct cell key;  // cell by which the row is sorted
  int kind;
  double number;
};

struct row_sort {
  bool descending;
  size_t most;  // number of rows wanted
  struct sorted_row *list;
  size_t count, room;
  bool cut;              // rows were dropped: a new row that sorts after list[most - 1] can be ignored
  struct arena scratch;  // memory for the texts of keys while they are compared
};

void row_sort_init(struct row_sort *s, size_t most, bool descending);
void row_sort_done(struct row_sort *s);

// Adds a row. The bytes of the key must stay valid until row_sort_done.
void row_sort_add(struct row_sort *s, const char *begin, size_t row, const struct cell *key);

// Drops the first `start` rows, and sorts the rest. `list` and `count` then hold at most `most - start` rows, in order.
void row_sort_finish(struct row_sort *s, size_t start);
