// SPDX-License-Identifier: Apache-2.0
// Shows columns of the rows of a table that meet conditions, sorted. A first pass finds these rows, and reads only the
// columns that conditions and sorting need. A second pass reads the rows to show.
#include "base/assert.h"
#include "base/mem.h"
#include "result/table/row_sort.h"
#include "result/text_cut.h"
#include "result/view/view_table.h"
#include "text/tokens.h"
#include "json/write.h"

enum { ROWS_SHOWN = 1000, ROWS_SORTED = 1 << 16, ROWS_DOUBTED = 256 };

struct found_row {
  const char *begin;
  size_t row;
};

struct records {
  const struct view_order *order;
  struct sheet table;
  struct view_columns shown, read;
  struct view_where where;
  bool sorted, descending;
  size_t sort_column;
  struct row_sort sort;
  size_t start, limit;  // number of matching rows to skip; maximum number of rows to show
  bool limited;         // the selector has a limit
  struct found_row *list;
  size_t count, room;
  size_t rows, met;  // number of rows read; number of rows that meet the conditions
  bool ended;        // all rows were read
  struct arena arena, scratch;
};

// ---- the selector

static bool read_columns(struct records *r, struct fault *f) {
  const struct json *list = view_member(r->order, STR("columns"));
  size_t ignored;
  if (!list) {
    for (size_t i = 0; i < r->table.columns; i++)
      if (!view_add_column(&r->shown, r->table.names[i], &ignored, f)) return false;
    return true;
  }
  bool ok = json_is(list, JSON_ARRAY) && list->count > 0;
  for (const struct json *e = ok ? list->child : NULL; e && ok; e = e->next) {
    str name;
    ok = json_string(e, &r->arena, &name);
    if (ok && !view_add_column(&r->shown, name, &ignored, f)) return false;
  }
  return ok || view_refuse(r->order, STR("columns"), "a list of names", f);
}

static bool read_sort(struct records *r, struct fault *f) {
  str name;
  if (!view_string(r->order, STR("sort"), STR(""), &r->arena, &name, f)) return false;
  if (!name.n) return true;
  r->sorted = true;
  r->descending = name.p[0] == '-';
  if (name.p[0] == '-' || name.p[0] == '+') name = str_from(name, 1);
  return view_add_column(&r->read, name, &r->sort_column, f);
}

static bool read_bounds(struct records *r, struct fault *f) {
  int64_t start, limit;
  if (!view_number(r->order, STR("start"), 0, &start, f) || !view_number(r->order, STR("limit"), -1, &limit, f))
    return false;
  if (start < 0) return view_refuse(r->order, STR("start"), "0 or more", f);
  if (!limit) return view_refuse(r->order, STR("limit"), "1 or more", f);
  r->start = (size_t)start;
  r->limited = limit >= 0;
  r->limit = r->limited && limit < ROWS_SHOWN ? (size_t)limit : ROWS_SHOWN;
  if (!r->sorted || r->start < ROWS_SORTED - ROWS_SHOWN) return true;
  fault_set(
      f, FAULT_INVALID,
      "only the first %d sorted rows can be shown: select fewer rows with \"where\", or sort in the other direction",
      ROWS_SORTED - ROWS_SHOWN);
  return false;
}

// If none of the first rows has a wanted column, reads all rows to find out whether any row has it.
static bool read_doubtful(struct records *r, struct fault *f) {
  struct sheet *t = &r->table;
  size_t ignored;
  if (!sheet_want(t, r->shown.names, r->shown.count, f)) return view_no_table(r->order, f);
  sheet_rewind(t);
  for (size_t i = 0; i < ROWS_DOUBTED && !sheet_all_seen(t) && sheet_next(t); i++) {
  }
  for (size_t i = 0; i < r->shown.count && !sheet_all_seen(t); i++)
    if (!(t->seen >> i & 1) && !view_add_column(&r->read, r->shown.names[i], &ignored, f)) return false;
  return true;
}

// ---- finding rows

static void add_row(struct records *r) {
  const struct sheet *t = &r->table;
  r->met++;
  if (r->sorted) {
    ASSERT(r->sort_column < r->read.count);
    row_sort_add(&r->sort, t->begin, t->row, &t->cells[r->sort_column]);
    return;
  }
  if (r->met <= r->start) return;
  if (r->count == r->room) {
    r->room = r->room ? 2 * r->room : 256;
    r->list = mem_grow(r->list, r->room * sizeof *r->list);
  }
  r->list[r->count++] = (struct found_row){t->begin, t->row};
}

// Finds the matching rows, at most one more than the limit. If the rows need not be sorted, stops as soon as these rows
// are found and every wanted column was seen.
static void find_rows(struct records *r) {
  bool enough = false;
  row_sort_init(&r->sort, r->start + r->limit + 1, r->descending);
  sheet_rewind(&r->table);
  while (!(enough && sheet_all_seen(&r->table)) && sheet_next(&r->table)) {
    if (enough) continue;
    r->rows++;
    if (r->scratch.head) arena_reset(&r->scratch);
    if (!view_row_meets(&r->where, &r->table, &r->scratch)) continue;
    add_row(r);
    enough = !r->sorted && r->count > r->limit;
  }
  r->ended = !enough;
  if (!r->sorted) return;
  row_sort_finish(&r->sort, r->start);
  r->count = r->sort.count;
  ASSERT(!r->list && r->count <= r->limit + 1);
  r->list = mem_alloc(r->count * sizeof *r->list);
  for (size_t i = 0; i < r->count; i++) r->list[i] = (struct found_row){r->sort.list[i].begin, r->sort.list[i].row};
}

// ---- the answer

static void put_header(struct records *r, struct buf *text) {
  for (size_t i = 0; i < r->shown.count; i++) {
    if (i) buf_char(text, ',');
    struct cell name = {r->shown.names[i], CELL_TEXT};
    view_put_cell(text, &name, &r->scratch);
  }
  buf_char(text, '\n');
}

// Writes rows to `text`. Returns the number of rows written.
static size_t put_rows(struct records *r, size_t near, struct buf *text) {
  size_t i = 0;
  for (; i < r->count && i < r->limit && text->n <= near; i++) {
    arena_reset(&r->scratch);
    sheet_seek(&r->table, r->list[i].begin, r->list[i].row);
    if (!sheet_next(&r->table)) break;
    for (size_t k = 0; k < r->shown.count; k++) {
      if (k) buf_char(text, ',');
      view_put_cell(text, &r->table.cells[k], &r->scratch);
    }
    buf_char(text, '\n');
  }
  return i;
}

static void note_rows(void *ctx, size_t lines, struct buf *out) {
  struct records *r = ctx;
  size_t shown = lines ? lines - 1 : 0;  // number of rows shown; the header is the first line
  ASSERT(shown <= r->limit);
  bool limit_left = r->limited && shown < r->limit;
  struct str_digits digits, rest;
  struct json_edit edits[] = {{STR("start"), str_from_u64(r->start + shown, &digits)},
                              {STR("limit"), str_from_u64(r->limit - shown, &rest)}};
  buf_printf(out, "rows %zu to %zu", r->start, r->start + shown);
  if (r->ended) buf_printf(out, " of %zu", r->met);
  buf_str(out, STR("; "));
  view_put_edited(out, r->order, edits, limit_left ? 2 : 1);
}

static bool too_wide(const struct records *r, struct fault *f) {
  fault_set(f, FAULT_INVALID, "a row exceeds the token limit; select fewer columns; example: %s", r->order->form);
  fault_set_path(f, STR("columns"));
  return false;
}

static bool show_rows(struct records *r, struct buf *out, struct fault *f) {
  struct buf text;
  size_t near = r->order->limit * MEASURE_TOKEN_BYTES, begin = out->n;
  buf_init(&text, 4 * near + (1 << 20));
  if (!sheet_want(&r->table, r->shown.names, r->shown.count, f)) return false;
  put_header(r, &text);
  size_t header = text.n, rows = put_rows(r, near, &text);
  bool whole = rows == r->count, ok = true;
  const char *second = rows ? memchr(text.p + header, '\n', text.n - header) : NULL;
  size_t first_row = second ? (size_t)(second + 1 - text.p) : header;
  if (!tokens_fit((str){text.p, first_row}, r->order->limit - 2 * VIEW_NOTE_TOKENS)) ok = too_wide(r, f);
  else view_put_lines(r->order, buf_view(&text), whole, note_rows, r, out);
  if (ok && !r->count && tokens_fit(str_from(buf_view(out), begin), r->order->limit - VIEW_NOTE_TOKENS))
    buf_printf(out, "\n%.*s no more rows: %zu of %zu meet the conditions", STR_ARG(r->order->mark), r->met, r->rows);
  buf_done(&text);
  return ok;
}

static bool show(struct records *r, struct buf *out, struct fault *f) {
  str path;
  if (!view_string(r->order, STR("path"), STR(""), &r->arena, &path, f)) return false;
  if (!sheet_open(&r->table, r->order->bytes, path, &r->arena, f)) return view_no_table(r->order, f);
  if (!read_columns(r, f) || !read_sort(r, f) || !read_bounds(r, f)) return false;
  if (!view_read_where(r->order, &r->arena, &r->read, &r->where, f) || !read_doubtful(r, f)) return false;
  if (!sheet_want(&r->table, r->read.names, r->read.count, f)) return view_no_table(r->order, f);
  find_rows(r);
  if (r->table.wrong && !r->count) {
    json_scan_fault(&r->table.scan, f);
    return view_no_json(r->order, f);
  }
  if (!sheet_has_wanted(&r->table, f)) return view_no_table(r->order, f);
  return show_rows(r, out, f) || view_no_table(r->order, f);
}

bool view_show_records(const struct view_order *o, struct buf *out, struct fault *f) {
  struct records *r = MEM_NEW(struct records);
  r->order = o;
  arena_init(&r->arena);
  arena_init(&r->scratch);
  bool ok = show(r, out, f);
  mem_free(r->list);
  row_sort_done(&r->sort);
  arena_done(&r->scratch);
  arena_done(&r->arena);
  mem_free(r);
  return ok;
}
