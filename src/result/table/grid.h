// SPDX-License-Identifier: Apache-2.0
// Holds the first rows of a table from any source, and the types and value ranges of its columns, and writes both into
// a summary.
#pragma once
#include "result/summary/brief.h"
#include "result/table/cell.h"

enum { GRID_COLUMNS = 40, GRID_ROWS = 60, GRID_DISTINCT = 4, GRID_SHOWN = 8 };

struct grid_column {
  struct cell name;
  enum cell_type type;                           // type that all cells have
  size_t bytes;                                  // total size of the column's cells
  size_t filled, longest;                        // number of cells that are not empty; size of the longest cell
  const struct cell *low, *high;                 // lowest and highest number or date, or NULL
  const struct cell *values[GRID_DISTINCT + 1];  // the first different values
  size_t distinct;                               // number of `values`
};

struct grid {
  size_t columns, rows;
  struct grid_column column[GRID_COLUMNS];
  struct cell cells[GRID_ROWS][GRID_COLUMNS];
  size_t shown[GRID_SHOWN], shown_count;  // columns that a summary shows in its rows
};

// Returns the index of the column with this name. Adds the column if it is new. Returns GRID_COLUMNS if there is no
// room.
size_t grid_add_column(struct grid *g, struct cell name);

// Analyses all columns. Must be called once, after the last row is added and before anything is written. Columns that
// contain lists, objects or long values are not shown in rows.
void grid_finish(struct grid *g);

// Appends the names of the first columns, separated by commas.
void grid_put_names(const struct grid *g, struct buf *out, size_t max);

// Writes a line with the types and ranges of the columns. `rows` is the number of rows in the whole table.
void grid_write_columns(const struct grid *g, struct brief *b, size_t rows, size_t tokens);

// Writes the column names and as many of the first rows as fit, each on its own line. Returns the number of rows
// written.
size_t grid_write_rows(const struct grid *g, struct brief *b, size_t tokens);

// Writes one more row, such as the last row of the table, in the form that grid_write_rows uses.
bool grid_write_row(const struct grid *g, struct brief *b, const struct cell *row);
