// SPDX-License-Identifier: Apache-2.0
// Shows statistics of one column of a table, or of each column: counts, minimum and maximum, sum, and the most frequent
// values. If the selector has `by`, shows the counts and sums for each group of rows that have the same value in
// another column.
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "result/table/tally.h"
#include "result/text_cut.h"
#include "result/view/view_table.h"

// CELLS_READ limits how many cells are read for statistics of all columns; a single column is read completely.
enum { CELLS_READ = 500000, TOP_OF_ONE = 20, TOP_OF_MANY = 3, GROUPS_SHOWN = 1000 };

// The statistics of one group: the rows that have the same value in the column `by`.
struct group {
  size_t count, numbers;
  double min, max, sum;
};

struct stats {
  const struct view_order *order;
  struct sheet table;
  struct view_where where;
  struct view_columns columns;  // columns to read; the columns with statistics come first
  size_t tallied;
  struct tally tallies[SHEET_COLUMNS];
  bool grouped;
  size_t by;
  struct tally groups;  // the different values in the column `by`
  struct group list[TALLY_VALUES];
  size_t rows, start;
  bool partly;  // not all rows were read
  struct arena arena, scratch;
};

// ---- reading

static void add_to_group(struct stats *s, const struct cell *by, const struct cell *c) {
  double x;
  struct tally_value *v = by->kind == CELL_NONE ? NULL : tally_value(&s->groups, by);
  if (!v) return;
  v->count++;
  struct group *g = &s->list[v - s->groups.values];
  ASSERT(v - s->groups.values < TALLY_VALUES);
  g->count++;
  if (!s->tallied || !cell_number(c, &x)) return;
  if (!g->numbers || x < g->min) g->min = x;
  if (!g->numbers || x > g->max) g->max = x;
  g->sum += x;
  g->numbers++;
}

static void read_rows(struct stats *s) {
  size_t most = s->tallied > 1 ? CELLS_READ / s->tallied : SIZE_MAX;
  sheet_rewind(&s->table);
  while (sheet_next(&s->table)) {
    s->partly = s->rows == most;
    if (s->partly && sheet_all_seen(&s->table)) return;
    if (s->partly) continue;
    if (s->scratch.head) arena_reset(&s->scratch);
    if (!view_row_meets(&s->where, &s->table, &s->scratch)) continue;
    s->rows++;
    if (s->grouped) add_to_group(s, &s->table.cells[s->by], &s->table.cells[0]);
    else
      for (size_t i = 0; i < s->tallied; i++) tally_add(&s->tallies[i], &s->table.cells[i], &s->scratch);
  }
}

// ---- the answer

// Writes a sum with about 15 digits: further digits would be rounding errors.
static void put_sum(struct buf *out, double sum) {
  char text[32];
  double rounded;
  snprintf(text, sizeof text, "%.15g", sum);
  view_put_number(out, text_number(str_of(text), &rounded) ? rounded : sum);
}

static void put_range(struct stats *s, const struct tally *t, struct buf *out) {
  if (t->numbers) {
    buf_str(out, STR(", min "));
    view_put_number(out, t->min);
    buf_str(out, STR(", max "));
    view_put_number(out, t->max);
    buf_str(out, STR(", sum "));
    put_sum(out, t->sum);
    buf_str(out, STR(", mean "));
    put_sum(out, t->sum / (double)t->numbers);
  }
  if (t->least.kind == CELL_NONE) return;
  if (t->numbers) buf_printf(out, ", %zu are not numbers", t->count - t->nulls - t->numbers);
  buf_str(out, STR(", first "));
  view_put_cell(out, &t->least, &s->scratch);
  buf_str(out, STR(", last "));
  view_put_cell(out, &t->most, &s->scratch);
}

static void put_counts(struct stats *s, const struct tally *t, struct buf *out) {
  ASSERT(t->nulls + t->numbers <= t->count);
  buf_printf(out, "count %zu, nulls %zu, distinct %s%zu", t->count, t->nulls, t->more ? "more than " : "", t->distinct);
  put_range(s, t, out);
}

// Returns whether frequent values are worth showing: a value occurs more than once, or there are only a few different
// values.
static bool has_frequent(const struct tally *t) {
  for (size_t i = 0; i < t->distinct; i++)
    if (t->values[i].count > 1) return true;
  return t->distinct && t->distinct <= TOP_OF_ONE;
}

static void put_top(struct stats *s, const struct tally *t, size_t max, const char *between, struct buf *out) {
  const struct tally_value *top[TOP_OF_ONE];
  size_t n = has_frequent(t) ? tally_top(t, top, max) : 0;
  for (size_t i = 0; i < n; i++) {
    buf_str(out, str_of(between));
    view_put_cell(out, &top[i]->cell, &s->scratch);
    buf_printf(out, " ×%zu", top[i]->count);
  }
}

static void put_column(struct stats *s, size_t i, struct buf *text) {
  struct cell name = {s->columns.names[i], CELL_TEXT};
  bool alone = s->tallied == 1;
  arena_reset(&s->scratch);
  view_put_cell(text, &name, &s->scratch);
  buf_str(text, STR(": "));
  put_counts(s, &s->tallies[i], text);
  if (alone)
    buf_str(text, s->tallies[i].more ? STR("\nmost frequent of the values seen first:") : STR("\nmost frequent:"));
  else if (has_frequent(&s->tallies[i])) buf_str(text, STR("; often"));
  put_top(s, &s->tallies[i], alone ? TOP_OF_ONE : TOP_OF_MANY, alone ? "\n" : " ", text);
  buf_char(text, '\n');
}

static void put_group(struct stats *s, const struct tally_value *v, struct buf *text) {
  const struct group *g = &s->list[v - s->groups.values];
  arena_reset(&s->scratch);
  view_put_cell(text, &v->cell, &s->scratch);
  buf_printf(text, ",%zu", g->count);
  if (s->tallied) {
    double shown[] = {g->min, g->max, g->sum, g->numbers ? g->sum / (double)g->numbers : 0};
    for (int i = 0; i < 4; i++) {
      buf_char(text, ',');
      if (!g->numbers) continue;
      if (i < 2) view_put_number(text, shown[i]);
      else put_sum(text, shown[i]);
    }
  }
  buf_char(text, '\n');
}

static void put_groups(struct stats *s, size_t near, struct buf *text) {
  const struct tally_value **top = mem_alloc(GROUPS_SHOWN * sizeof(struct tally_value *));
  size_t n = tally_top(&s->groups, top, GROUPS_SHOWN);
  struct cell name = {s->columns.names[s->by], CELL_TEXT};
  view_put_cell(text, &name, &s->scratch);
  buf_str(text, s->tallied ? STR(",count,min,max,sum,mean\n") : STR(",count\n"));
  for (size_t i = s->start; i < n && text->n <= near; i++) put_group(s, top[i], text);
  mem_free(top);
}

static void put_columns(struct stats *s, size_t near, struct buf *text) {
  for (size_t i = s->start; i < s->tallied && text->n <= near; i++) put_column(s, i, text);
}

// Writes the note of a view that is cut after `lines` lines. The first line of the view has the number of rows; if
// there are groups, the second line is a header.
static void note_cut(void *ctx, size_t lines, struct buf *out) {
  struct stats *s = ctx;
  size_t ahead = s->grouped ? 2 : 1, shown = lines > ahead ? lines - ahead : 0;
  if (s->tallied == 1 && !s->grouped) {
    buf_str(out, STR("more values follow: see them with {\"type\":\"records\",\"columns\":["));
    json_escape(out, s->columns.names[0]);
    buf_str(out, STR("]}"));
    return;
  }
  buf_printf(out, "%s %zu to %zu; ", s->grouped ? "groups" : "columns", s->start, s->start + shown);
  view_put_next(out, s->order, s->start + (shown ? shown : 1));
}

static void put_summary(const struct stats *s, struct buf *text) {
  if (s->partly) buf_printf(text, "first %zu rows only; name a column to read all of its rows\n", s->rows);
  else if (s->groups.more)
    buf_printf(text, "%zu rows, more than %zu groups: the first found\n", s->rows, s->groups.distinct);
  else if (s->grouped) buf_printf(text, "%zu rows, %zu groups\n", s->rows, s->groups.distinct);
  else buf_printf(text, "%zu rows, %zu columns\n", s->rows, s->table.columns);
}

static void show_stats(struct stats *s, struct buf *out) {
  struct buf text;
  size_t near = s->order->limit * MEASURE_TOKEN_BYTES;
  buf_init(&text, 4 * near + (1 << 20));
  put_summary(s, &text);
  if (s->grouped) put_groups(s, near, &text);
  else put_columns(s, near, &text);
  view_put_lines(s->order, buf_view(&text), text.n <= near, note_cut, s, out);
  buf_done(&text);
}

// ---- the selector

static bool read_columns(struct stats *s, struct fault *f) {
  str column, by;
  size_t ignored;
  if (!view_string(s->order, STR("column"), STR(""), &s->arena, &column, f)) return false;
  if (!view_string(s->order, STR("by"), STR(""), &s->arena, &by, f)) return false;
  s->grouped = by.n > 0;
  if (column.n && !view_add_column(&s->columns, column, &ignored, f)) return false;
  for (size_t i = 0; !column.n && !s->grouped && i < s->table.columns; i++)
    if (!view_add_column(&s->columns, s->table.names[i], &ignored, f)) return false;
  s->tallied = s->columns.count;
  return !s->grouped || view_add_column(&s->columns, by, &s->by, f);
}

static bool read_selector(struct stats *s, struct fault *f) {
  str path;
  int64_t start;
  if (!view_string(s->order, STR("path"), STR(""), &s->arena, &path, f)) return false;
  if (!view_number(s->order, STR("start"), 0, &start, f)) return false;
  if (!sheet_open(&s->table, s->order->bytes, path, &s->arena, f)) return view_no_table(s->order, f);
  s->start = start > 0 ? (size_t)start : 0;
  if (!read_columns(s, f) || !view_read_where(s->order, &s->arena, &s->columns, &s->where, f)) return false;
  return sheet_want(&s->table, s->columns.names, s->columns.count, f) || view_no_table(s->order, f);
}

bool view_show_stats(const struct view_order *o, struct buf *out, struct fault *f) {
  struct stats *s = MEM_NEW(struct stats);
  s->order = o;
  arena_init(&s->arena);
  arena_init(&s->scratch);
  bool ok = read_selector(s, f);
  if (ok) {
    if (s->grouped) tally_init(&s->groups);
    for (size_t i = 0; i < s->tallied && !s->grouped; i++) tally_init(&s->tallies[i]);
    read_rows(s);
    ok = !s->table.wrong && sheet_has_wanted(&s->table, f);
    if (ok) show_stats(s, out);
    else if (s->table.wrong) json_scan_fault(&s->table.scan, f), view_no_json(o, f);
    else view_no_table(o, f);
    tally_done(&s->groups);
    for (size_t i = 0; i < s->tallied; i++) tally_done(&s->tallies[i]);
  }
  arena_done(&s->scratch);
  arena_done(&s->arena);
  mem_free(s);
  return ok;
}
