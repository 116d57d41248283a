// SPDX-License-Identifier: Apache-2.0
// Summary of tables in text: columns, the number of rows, the first and the last rows.
#include "base/assert.h"
#include "result/summary/summary_impl.h"
#include "result/table/grid.h"
#include "result/table/sheet.h"

enum { TAIL_BYTES = 16 << 10, LAST_ROWS = 2 };

struct table_summary {
  struct sheet sheet;
  size_t rows;
  struct grid grid;
  struct cell last[LAST_ROWS][GRID_COLUMNS];
  size_t last_count;
};

static size_t read_row(struct sheet *t, struct cell *row) {
  str fields[SHEET_LISTED];
  _Static_assert((int)SHEET_LISTED <= (int)GRID_COLUMNS, "a grid has room for every field");
  size_t count = sheet_listed(t, fields);
  for (size_t i = 0; i < count; i++) row[i] = cell_of_field(fields[i]);
  return count;
}

static void read_first(struct table_summary *ts, struct arena *a) {
  struct grid *g = &ts->grid;
  struct sheet *t = &ts->sheet;
  g->columns = t->columns;
  for (size_t i = 0; i < t->columns; i++)
    g->column[i].name = (struct cell){t->named ? t->names[i] : arena_printf(a, "%zu", i + 1), CELL_TEXT};
  while (g->rows < GRID_ROWS && read_row(t, g->cells[g->rows])) g->rows++;
  grid_finish(g);
}

// Reads the last rows, starting after a line end near the end of the text. Ignores a row with the wrong number of
// cells: reading may have begun in the middle of this row, inside quotes.
static void read_last(struct table_summary *ts) {
  struct sheet *t = &ts->sheet;
  const char *end = t->bytes.p + t->bytes.n, *from = t->first;
  if (end - from > TAIL_BYTES) {
    from = end - TAIL_BYTES;
    const char *line = memchr(from, '\n', TAIL_BYTES);
    if (line) from = line + 1;
  }
  struct cell row[GRID_COLUMNS] = {0};
  sheet_seek(t, from, 0);
  for (size_t count; (count = read_row(t, row));) {
    if (count != t->columns) continue;
    memmove(ts->last[0], ts->last[1], sizeof ts->last[0]);
    memcpy(ts->last[1], row, sizeof row);
    if (ts->last_count < LAST_ROWS) ts->last_count++;
  }
}

void summary_look_table(struct summary *s) {
  struct table_summary *ts = ARENA_NEW(s->a, struct table_summary);
  s->found = ts;
  if (!sheet_open_as(&ts->sheet, s->text, s->content.form, s->content.separator)) {
    summary_fall_back(s);
    return;
  }
  ts->rows = sheet_count(&ts->sheet);
  read_first(ts, s->a);
  if (ts->rows > ts->grid.rows) read_last(ts);
  struct buf names;
  buf_init(&names, 8192);
  grid_put_names(&ts->grid, &names, GRID_COLUMNS);
  summary_add_fact(s, "rows: %zu", ts->rows);
  if (ts->sheet.named && names.n < SUMMARY_FACT_CHARS - 10)
    summary_add_fact(s, "columns: %.*s", STR_ARG(buf_view(&names)));
  else summary_add_fact(s, "columns: %zu", ts->sheet.columns);
  buf_done(&names);
  if (ts->sheet.kind != SHEET_ALIGNED && ts->sheet.named)
    summary_add_view(s, "rows as records", "{\"type\":\"records\",\"limit\":20}");
  summary_add_view(s, "rows", "{\"type\":\"rows\",\"start\":1,\"end\":40}");
}

void summary_write_table(const struct summary *s, struct brief *b) {
  enum { LAST_TOKENS = 36 };  // estimated tokens of one row at the end of the table
  const struct table_summary *ts = s->found;
  struct brief_size size;
  ASSERT(ts->last_count <= LAST_ROWS);
  brief_printf(b, "%s of %zu rows and %zu columns, %s", s->content.what, ts->rows, ts->sheet.columns,
               brief_size_of(s->text.n, &size));
  grid_write_columns(&ts->grid, b, ts->rows, b->left / 2);
  size_t kept = ts->last_count && b->left > 4 * LAST_TOKENS ? 2 * LAST_TOKENS : 10;
  size_t rows = grid_write_rows(&ts->grid, b, b->left > kept ? b->left - kept : 0);
  if (!rows || rows == ts->rows) return;
  size_t last = ts->last_count && rows + LAST_ROWS < ts->rows && b->left > LAST_TOKENS ? ts->last_count : 0;
  brief_printf(b, "… %zu more rows%s", ts->rows - rows, last ? ", the last:" : "");
  for (size_t i = 0; i < last; i++) grid_write_row(&ts->grid, b, ts->last[LAST_ROWS - last + i]);
}
