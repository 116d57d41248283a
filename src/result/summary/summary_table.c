// SPDX-License-Identifier: Apache-2.0
// Tables that are text: columns, rows, the first and the last of them.
#include "result/summary/summary_impl.h"
#include "result/table/grid.h"
#include "result/table/table_rows.h"

enum { TAIL_BYTES = 16 << 10, LAST_ROWS = 2 };

struct sheet {
  struct table table;
  size_t rows;
  struct grid grid;
  struct cell last[LAST_ROWS][GRID_COLUMNS];
  size_t last_count;
};

static size_t fill_row(const struct table *t, str *rest, struct cell *row) {
  str cells[TABLE_COLUMNS];
  size_t count = table_next(t, rest, cells);
  for (size_t i = 0; i < count && i < GRID_COLUMNS; i++) row[i] = grid_text_cell(cells[i]);
  return count;
}

static void read_first(struct sheet *sh) {
  struct grid *g = &sh->grid;
  str rest = sh->table.body;
  g->columns = sh->table.columns < GRID_COLUMNS ? sh->table.columns : GRID_COLUMNS;
  while (g->rows < GRID_ROWS && fill_row(&sh->table, &rest, g->cells[g->rows])) {
    for (size_t i = 0; i < g->columns; i++) g->bytes[i] += g->cells[g->rows][i].text.n;
    g->rows++;
  }
}

// From the end, where lines end: one that does not have all cells was cut inside quotes, and is not shown.
static void read_last(struct sheet *sh) {
  str body = sh->table.body, rest = str_from(body, body.n > TAIL_BYTES ? body.n - TAIL_BYTES : 0);
  const char *end = rest.n < body.n ? memchr(rest.p, '\n', rest.n) : NULL;
  if (end) rest = str_from(rest, (size_t)(end - rest.p) + 1);
  struct cell row[GRID_COLUMNS] = {0};
  while (rest.n) {
    size_t count = fill_row(&sh->table, &rest, row);
    if (count != sh->table.columns) continue;
    memmove(sh->last[0], sh->last[1], sizeof sh->last[0]);
    memcpy(sh->last[1], row, sizeof row);
    if (sh->last_count < LAST_ROWS) sh->last_count++;
  }
}

static void name_columns(struct sheet *sh, struct arena *a) {
  for (size_t i = 0; i < sh->grid.columns; i++)
    sh->grid.names[i] = sh->table.named ? sh->table.names[i] : arena_printf(a, "%zu", i + 1);
}

static void add_facts(struct summary *s, const struct sheet *sh) {
  struct buf names;
  buf_init(&names, 8192);
  for (size_t i = 0; i < sh->grid.columns; i++) {
    if (i) buf_str(&names, STR(", "));
    brief_cell(&names, sh->grid.names[i], 60);
  }
  summary_add_fact(s, "rows: %zu", sh->rows);
  if (sh->table.named && names.n < SUMMARY_FACT_CHARS - 10)
    summary_add_fact(s, "columns: %.*s", STR_ARG(buf_view(&names)));
  else summary_add_fact(s, "columns: %zu", sh->table.columns);
  buf_done(&names);
}

void summary_look_table(struct summary *s) {
  struct sheet *sh = ARENA_NEW(s->a, struct sheet);
  s->found = sh;
  if (!table_open(s->text, &s->content, &sh->table)) {
    s->content = (struct content){.kind = CONTENT_PROSE, .what = "text"};
    summary_look_prose(s);
    return;
  }
  sh->rows = table_count(&sh->table);
  read_first(sh);
  name_columns(sh, s->a);
  if (sh->rows > sh->grid.rows) read_last(sh);
  add_facts(s, sh);
  if (sh->table.form != TABLE_ALIGNED && sh->table.named)
    summary_add_view(s, "rows as records", "{\"type\":\"records\",\"limit\":20}");
  summary_add_view(s, "rows", "{\"type\":\"rows\",\"start\":1,\"end\":40}");
}

void summary_write_table(const struct summary *s, struct brief *b) {
  enum { LAST_TOKENS = 36 };  // of a row, about
  const struct sheet *sh = s->found;
  struct brief_size size;
  brief_printf(b, "%s of %zu rows and %zu columns, %s", s->content.what, sh->rows, sh->table.columns,
               brief_size_of(s->text.n, &size));
  grid_write_columns(&sh->grid, b, sh->rows, b->left / 2);
  size_t kept = sh->last_count && b->left > 4 * LAST_TOKENS ? 2 * LAST_TOKENS : 10;
  size_t rows = grid_write_rows(&sh->grid, b, b->left > kept ? b->left - kept : 0);
  if (!rows || rows == sh->rows) return;
  size_t last = sh->last_count && rows + LAST_ROWS < sh->rows && b->left > LAST_TOKENS ? sh->last_count : 0;
  brief_printf(b, "… %zu more rows%s", sh->rows - rows, last ? ", the last:" : "");
  for (size_t i = 0; i < last; i++) grid_write_row(&sh->grid, b, sh->last[LAST_ROWS - last + i]);
}
