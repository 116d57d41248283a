// SPDX-License-Identifier: Apache-2.0
// What records and stats share: the columns they read, and the conditions on rows.
#pragma once
#include "result/table/sheet.h"
#include "result/view/view_impl.h"

enum { VIEW_CONDITIONS = 16, VIEW_OPERANDS = 64 };

// Columns to be read, each once.
struct view_columns {
  str names[SHEET_COLUMNS];
  size_t count;
};

// Its place among them; false, with f set, when there are too many.
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
  size_t column;  // place among those that are read
  enum view_operator op;
  struct view_operand *operands;
  size_t count;
  bool wanted;  // of is_null: is it to be so?
};

struct view_where {
  struct view_condition list[VIEW_CONDITIONS];
  size_t count;
};

// Reads `where` of the selector: a list of {"column","op","value"}. What it needs to read is added to the columns.
bool view_read_where(const struct view_order *o, struct arena *a, struct view_columns *c, struct view_where *out,
                     struct fault *f);

// Does the row that was read last meet all conditions?
bool view_row_meets(const struct view_where *w, const struct sheet *t, struct arena *scratch);

// What f says of a table, with the right form behind it; gives false.
bool view_no_table(const struct view_order *o, struct fault *f);

// A number as it would be written.
void view_put_number(struct buf *out, double value);

// A cell for an answer: on one line, not too long, in quotes when it needs them.
void view_put_cell(struct buf *out, const struct cell *c, struct arena *scratch);
