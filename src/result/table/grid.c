// SPDX-License-Identifier: Apache-2.0
#include "result/table/grid.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

enum {
  CELL_CHARS = 40,      // maximum characters of a cell in a row or a range
  NAME_CHARS = 40,      // maximum characters of a column's name
  FACT_CHARS = 60,      // maximum characters of a column's name in a list
  WIDE_BYTES = 160,     // columns whose cells are larger on average are not shown in rows
  DISTINCT_CHARS = 16,  // maximum characters of a value that is shown in a list of different values
};

size_t grid_add_column(struct grid *g, struct cell name) {
  ASSERT(g->columns <= GRID_COLUMNS);
  for (size_t i = 0; i < g->columns; i++)
    if (str_eq(g->column[i].name.raw, name.raw)) return i;
  if (g->columns == GRID_COLUMNS) return GRID_COLUMNS;
  g->column[g->columns].name = name;
  return g->columns++;
}

// ---- columns ----

static enum cell_type join_types(enum cell_type a, enum cell_type b) {
  if (a == b || b == TYPE_EMPTY) return a;
  if (a == TYPE_EMPTY) return b;
  if ((a == TYPE_INTEGER && b == TYPE_NUMBER) || (a == TYPE_NUMBER && b == TYPE_INTEGER)) return TYPE_NUMBER;
  return TYPE_TEXT;
}

static double number_of(str text) {
  char digits[40];
  size_t n = text.n < sizeof digits - 1 ? text.n : sizeof digits - 1;
  memcpy(digits, text.p, n);
  digits[n] = 0;
  return strtod(digits, NULL);
}

static int compare(const struct cell *a, const struct cell *b) {
  str x = cell_inside(a), y = cell_inside(b);
  if (cell_type(a) == TYPE_DATE || cell_type(b) == TYPE_DATE) return str_cmp(x, y);
  return (number_of(x) > number_of(y)) - (number_of(x) < number_of(y));
}

static bool is_ordered(enum cell_type type) {
  return type == TYPE_INTEGER || type == TYPE_NUMBER || type == TYPE_DATE;
}

static void add_value(struct grid_column *c, const struct cell *cell) {
  for (size_t i = 0; i < c->distinct; i++)
    if (str_eq(cell_inside(c->values[i]), cell_inside(cell))) return;
  if (c->distinct <= GRID_DISTINCT) c->values[c->distinct++] = cell;
}

static void look_at(struct grid *g, struct grid_column *c) {
  for (size_t r = 0; r < g->rows; r++) {
    const struct cell *cell = &g->cells[r][c - g->column];
    enum cell_type type = cell_type(cell);
    size_t n = cell_inside(cell).n;
    c->bytes += cell->kind == CELL_JSON ? cell->raw.n : n;
    c->type = join_types(c->type, type);
    if (type == TYPE_EMPTY) continue;
    c->filled++;
    if (n > c->longest) c->longest = n;
    add_value(c, cell);
    if (!is_ordered(type)) continue;
    if (!c->low || compare(cell, c->low) < 0) c->low = cell;
    if (!c->high || compare(cell, c->high) > 0) c->high = cell;
  }
}

static bool is_shown(const struct grid *g, const struct grid_column *c) {
  if (c->type == TYPE_LIST || c->type == TYPE_OBJECT || c->type == TYPE_EMPTY) return false;
  return g->rows && c->bytes / g->rows < WIDE_BYTES;
}

// Columns of links are shown only if no other column is suitable. If no column is suitable, the first one is shown.
void grid_finish(struct grid *g) {
  size_t count = 0;
  ASSERT(g->columns <= GRID_COLUMNS && g->rows <= GRID_ROWS && !g->shown_count);
  for (size_t i = 0; i < g->columns; i++) look_at(g, &g->column[i]);
  for (size_t i = 0; i < g->columns && count < GRID_SHOWN; i++)
    if (is_shown(g, &g->column[i]) && g->column[i].type != TYPE_LINK) g->shown[count++] = i;
  for (size_t i = 0; i < g->columns && !count; i++)
    if (is_shown(g, &g->column[i])) g->shown[count++] = i;
  if (!count && g->columns) g->shown[count++] = 0;
  g->shown_count = count;
}

static void put_type(struct buf *out, const struct grid_column *c) {
  static const char *const names[] = {"empty", "boolean", "integer", "number", "date",
                                      "link",  "text",    "list",    "object"};
  bool few = c->type == TYPE_TEXT && c->distinct <= GRID_DISTINCT && c->filled >= 2 * c->distinct && c->longest &&
             c->longest <= DISTINCT_CHARS;
  for (size_t i = 0; few && i < c->distinct; i++) {
    if (i) buf_char(out, '|');
    cell_put_short(out, c->values[i], DISTINCT_CHARS);
  }
  if (few) return;
  buf_str(out, str_of(names[c->type]));
  if (is_ordered(c->type) && c->low) {
    buf_char(out, ' ');
    cell_put_short(out, c->low, CELL_CHARS);
    if (str_eq(cell_inside(c->low), cell_inside(c->high))) return;
    buf_str(out, STR(" to "));
    cell_put_short(out, c->high, CELL_CHARS);
  }
  if (c->longest > 10 * CELL_CHARS) {
    buf_str(out, STR(", up to "));
    brief_size(out, c->longest);
  }
}

void grid_write_columns(const struct grid *g, struct brief *b, size_t rows, size_t tokens) {
  struct brief_list list;
  char title[64];
  snprintf(title, sizeof title, "columns, by the first %zu rows: ", g->rows);
  brief_list_begin(&list, b, tokens, rows > g->rows ? str_of(title) : STR("columns: "));
  for (size_t i = 0; i < g->columns; i++) {
    struct buf *item = brief_list_item(&list);
    cell_put_short(item, &g->column[i].name, NAME_CHARS);
    buf_str(item, STR(" ("));
    put_type(item, &g->column[i]);
    buf_char(item, ')');
    brief_list_item_end(&list);
  }
  brief_list_end(&list, b);
}

void grid_put_names(const struct grid *g, struct buf *out, size_t max) {
  for (size_t i = 0; i < g->columns && i < max; i++) {
    if (i) buf_str(out, STR(", "));
    cell_put_short(out, &g->column[i].name, FACT_CHARS);
  }
}

// ---- rows ----

bool grid_write_row(const struct grid *g, struct brief *b, const struct cell *row) {
  size_t begin = brief_begin(b);
  for (size_t i = 0; i < g->shown_count; i++) {
    if (i) buf_str(b->out, STR(" | "));
    cell_put_short(b->out, &row[g->shown[i]], CELL_CHARS);
  }
  return brief_end(b, begin);
}

size_t grid_write_rows(const struct grid *g, struct brief *b, size_t tokens) {
  struct brief share = brief_share(b, tokens);
  struct cell names[GRID_COLUMNS];
  size_t begin = b->out->n, rows = 0;
  for (size_t i = 0; i < g->columns; i++) names[i] = g->column[i].name;
  if (!grid_write_row(g, &share, names)) return 0;
  while (rows < g->rows && grid_write_row(g, &share, g->cells[rows])) rows++;
  if (rows) brief_take_back(b, &share);
  else b->out->n = begin;
  return rows;
}
