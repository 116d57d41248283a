// SPDX-License-Identifier: Apache-2.0
// Code that the views `records` and `stats` share: columns to read, and conditions on rows.
#pragma once
#include "result/table/sheet.h"
#include "result/view/view_impl.h"

enum { VIEW_CONDITIONS = 16, VIEW_OPERANDS = 64 };

// Columns to read, without duplicates.
struct view_columns {
  str names[SHEET_COLUMNS];
  size_t count;
};

// Adds a column if it is not in `c`. Sets *out_place to its index. Fails if there are too many columns.
bool view_add_column(struct view_columns *c, str name, size_t *out_place, struct fault *f);

enum view_operator {
  VIEW_EQ,
  VIEW_NE,
  VIEW_LT,
  VIEW_LE,
  VIEW_GT,
  VIEW_GE,
  VIEW_CONTAINS,
  VIEW_STARTS,
  VIEW_IN,
  VIEW_NULL
};

struct view_operand {
  str text;
  double number;
  bool is_number;
};

struct view_condition {
  size_t column;  // index of the column in view_columns
  enum view_operator op;
  struct view_operand *operands;
  size_t count;
  bool wanted;  // operand of is_null: whether the cell must be empty
};

struct view_where {
  struct view_condition list[VIEW_CONDITIONS];
  size_t count;
};

// Reads the member `where` of the selector, a list of {"column","op","value"}, and adds the columns of the conditions
// to `c`.
bool view_read_where(const struct view_order *o, struct arena *a, struct view_columns *c, struct view_where *out,
                     struct fault *f);

// Returns whether the current row meets all conditions.
bool view_row_meets(const struct view_where *w, const struct sheet *t, struct arena *scratch);

// Adds an example of a valid selector to the fault's message. Always returns false.
bool view_no_table(const struct view_order *o, struct fault *f);

// Writes a number in its shortest form.
void view_put_number(struct buf *out, double value);

// Writes a cell on one line. Shortens a long cell, and puts it in quotes if necessary.
void view_put_cell(struct buf *out, const struct cell *c, struct arena *scratch);
