// SPDX-License-Identifier: Apache-2.0
// The first rows of a table, wherever they come from (CSV, columns of blanks, JSON objects), and what can be said of
// its columns from them.
#pragma once
#include "result/summary/brief.h"

enum { GRID_COLUMNS = 40, GRID_ROWS = 60 };

enum cell_type {
  CELL_EMPTY,
  CELL_TRUTH,
  CELL_INTEGER,
  CELL_NUMBER,
  CELL_DATE,
  CELL_LINK,
  CELL_TEXT,
  CELL_LIST,
  CELL_OBJECT,
};

struct cell {
  enum cell_type type;
  bool escaped;  // the inside of a JSON string
  str text;      // what is shown of it
};

struct grid {
  size_t columns, rows;
  str names[GRID_COLUMNS];
  bool names_escaped;
  size_t bytes[GRID_COLUMNS];  // what a column takes in these rows
  struct cell cells[GRID_ROWS][GRID_COLUMNS];
};

// A cell of text, its type as it looks.
struct cell grid_text_cell(str text);

// A line of the columns with their types and what their values are like, in the rows that are here; rows: how many
// there are in all.
void grid_write_columns(const struct grid *g, struct brief *b, size_t rows, size_t tokens);

// The first rows, a line each, under a line of the names that are shown; as many as fit into `tokens`. Columns that are
// long or hold other things are left out. Gives how many rows.
size_t grid_write_rows(const struct grid *g, struct brief *b, size_t tokens);

// One more row in the same form: the last one, say.
bool grid_write_row(const struct grid *g, struct brief *b, const struct cell *row);
