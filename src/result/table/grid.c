// SPDX-License-Identifier: Apache-2.0
#include "result/table/grid.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"

enum {
  CELL_CHARS = 40,      // of a cell that is shown
  NAME_CHARS = 40,      // of a column's name
  SHOWN_COLUMNS = 8,    // of a row
  WIDE_BYTES = 160,     // a column that has more in a row on average is not shown
  DISTINCT = 4,         // values that are told one by one
  DISTINCT_CHARS = 16,  // when they are no longer
};

// ---- types ----

static bool is_digits(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_digit(s.p[i])) return false;
  return s.n > 0;
}

static enum cell_type number_type(str s) {
  if (s.n > 30) return CELL_TEXT;
  if (s.n && (*s.p == '-' || *s.p == '+')) s = str_from(s, 1);
  str whole, rest;
  if (!str_cut(s, '.', &whole, &rest)) return is_digits(s) ? CELL_INTEGER : CELL_TEXT;
  return is_digits(whole) && is_digits(rest) ? CELL_NUMBER : CELL_TEXT;
}

static bool is_date(str s) {
  return s.n >= 10 && s.n <= 40 && is_digits((str){s.p, 4}) && (s.p[4] == '-' || s.p[4] == '/') &&
         is_digits((str){s.p + 5, 2}) && s.p[7] == s.p[4] && is_digits((str){s.p + 8, 2});
}

static bool is_truth(str s) {
  return str_eq_nocase(s, STR("true")) || str_eq_nocase(s, STR("false"));
}

static bool is_empty(str s) {
  return !s.n || str_eq_nocase(s, STR("null")) || str_eq(s, STR("NULL")) || str_eq(s, STR("<none>")) ||
         str_eq(s, STR("-")) || str_eq(s, STR("NaN"));
}

struct cell grid_text_cell(str text) {
  struct cell c = {.type = CELL_TEXT, .text = text};
  if (is_empty(text)) c.type = CELL_EMPTY;
  else if (is_truth(text)) c.type = CELL_TRUTH;
  else if (is_date(text)) c.type = CELL_DATE;
  else if (str_starts(text, STR("http://")) || str_starts(text, STR("https://"))) c.type = CELL_LINK;
  else c.type = number_type(text);
  return c;
}

// ---- columns ----

struct column {
  enum cell_type type;
  size_t filled, distinct, longest;
  const struct cell *low, *high;
  const struct cell *values[DISTINCT + 1];
};

// What two cells of a column are together.
static enum cell_type join_types(enum cell_type a, enum cell_type b) {
  if (a == b || b == CELL_EMPTY) return a;
  if (a == CELL_EMPTY) return b;
  if (a + b == CELL_INTEGER + CELL_NUMBER && (a == CELL_NUMBER || b == CELL_NUMBER)) return CELL_NUMBER;
  return CELL_TEXT;
}

static double value_of(const struct cell *c) {
  char digits[40];
  size_t n = c->text.n < sizeof digits - 1 ? c->text.n : sizeof digits - 1;
  memcpy(digits, c->text.p, n);
  digits[n] = 0;
  return strtod(digits, NULL);
}

static int compare(const struct cell *a, const struct cell *b) {
  bool numbers = a->type != CELL_DATE && b->type != CELL_DATE;
  if (!numbers) return str_cmp(a->text, b->text);
  double x = value_of(a), y = value_of(b);
  return x < y ? -1 : x > y;
}

static bool is_ordered(enum cell_type type) {
  return type == CELL_INTEGER || type == CELL_NUMBER || type == CELL_DATE;
}

static void note_value(struct column *c, const struct cell *cell) {
  for (size_t i = 0; i < c->distinct; i++)
    if (str_eq(c->values[i]->text, cell->text)) return;
  if (c->distinct <= DISTINCT) c->values[c->distinct++] = cell;
}

static struct column look_at(const struct grid *g, size_t i) {
  struct column c = {.type = CELL_EMPTY};
  for (size_t r = 0; r < g->rows; r++) {
    const struct cell *cell = &g->cells[r][i];
    c.type = join_types(c.type, cell->type);
    if (cell->type == CELL_EMPTY) continue;
    c.filled++;
    if (cell->text.n > c.longest) c.longest = cell->text.n;
    note_value(&c, cell);
    if (!is_ordered(cell->type)) continue;
    if (!c.low || compare(cell, c.low) < 0) c.low = cell;
    if (!c.high || compare(cell, c.high) > 0) c.high = cell;
  }
  return c;
}

static void put_cell(struct buf *out, const struct cell *c, size_t chars) {
  if (c->escaped) brief_json_cell(out, c->text, chars);
  else brief_cell(out, c->text, chars);
}

static bool has_few_values(const struct column *c) {
  return c->type == CELL_TEXT && c->distinct <= DISTINCT && c->filled >= 2 * c->distinct && c->longest &&
         c->longest <= DISTINCT_CHARS;
}

static void put_values(struct buf *out, const struct column *c) {
  for (size_t i = 0; i < c->distinct; i++) {
    if (i) buf_char(out, '|');
    put_cell(out, c->values[i], DISTINCT_CHARS);
  }
}

static void put_type(struct buf *out, const struct column *c) {
  static const char *const names[] = {"empty", "boolean", "integer", "number", "date",
                                      "link",  "text",    "list",    "object"};
  if (has_few_values(c)) {
    put_values(out, c);
    return;
  }
  buf_str(out, str_of(names[c->type]));
  if (is_ordered(c->type) && c->low) {
    buf_char(out, ' ');
    put_cell(out, c->low, CELL_CHARS);
    if (str_eq(c->low->text, c->high->text)) return;
    buf_str(out, STR(" to "));
    put_cell(out, c->high, CELL_CHARS);
  }
  if (c->longest > 10 * CELL_CHARS) {
    buf_str(out, STR(", up to "));
    brief_size(out, c->longest);
  }
}

static void put_name(struct buf *out, const struct grid *g, size_t i) {
  if (g->names_escaped) brief_json_cell(out, g->names[i], NAME_CHARS);
  else brief_cell(out, g->names[i], NAME_CHARS);
}

void grid_write_columns(const struct grid *g, struct brief *b, size_t rows, size_t tokens) {
  struct brief_list list;
  char title[64];
  snprintf(title, sizeof title, "columns, by the first %zu rows: ", g->rows);
  brief_list_begin(&list, b, tokens, rows > g->rows ? str_of(title) : STR("columns: "));
  for (size_t i = 0; i < g->columns; i++) {
    struct column c = look_at(g, i);
    struct buf item;
    buf_init(&item, 4096);
    put_name(&item, g, i);
    buf_str(&item, STR(" ("));
    put_type(&item, &c);
    buf_char(&item, ')');
    brief_list_add(&list, buf_view(&item));
    buf_done(&item);
  }
  brief_list_end(&list, b);
}

// ---- rows ----

static bool is_shown(const struct grid *g, size_t i) {
  enum cell_type type = look_at(g, i).type;
  if (type == CELL_LIST || type == CELL_OBJECT || type == CELL_EMPTY) return false;
  return g->rows && g->bytes[i] / g->rows < WIDE_BYTES;
}

// Links are told when there is nothing better.
static size_t choose(const struct grid *g, size_t chosen[SHOWN_COLUMNS]) {
  size_t count = 0;
  for (size_t i = 0; i < g->columns && count < SHOWN_COLUMNS; i++)
    if (is_shown(g, i) && look_at(g, i).type != CELL_LINK) chosen[count++] = i;
  for (size_t i = 0; i < g->columns && !count; i++)
    if (is_shown(g, i)) chosen[count++] = i;
  for (size_t i = 0; i < g->columns && !count; i++) chosen[count++] = i;
  return count;
}

static bool write_row(struct brief *b, const struct cell *row, const size_t *chosen, size_t count) {
  struct buf line;
  buf_init(&line, 8192);
  for (size_t i = 0; i < count; i++) {
    if (i) buf_str(&line, STR(" | "));
    put_cell(&line, &row[chosen[i]], CELL_CHARS);
  }
  bool fits = brief_line(b, buf_view(&line));
  buf_done(&line);
  return fits;
}

bool grid_write_row(const struct grid *g, struct brief *b, const struct cell *row) {
  size_t chosen[SHOWN_COLUMNS], count = choose(g, chosen);
  return write_row(b, row, chosen, count);
}

static bool write_names(const struct grid *g, struct brief *b, const size_t *chosen, size_t count) {
  struct buf line;
  buf_init(&line, 8192);
  for (size_t i = 0; i < count; i++) {
    if (i) buf_str(&line, STR(" | "));
    put_name(&line, g, chosen[i]);
  }
  bool fits = brief_line(b, buf_view(&line));
  buf_done(&line);
  return fits;
}

size_t grid_write_rows(const struct grid *g, struct brief *b, size_t tokens) {
  struct brief share = {b->out, tokens < b->left ? tokens : b->left};
  size_t chosen[SHOWN_COLUMNS], count = choose(g, chosen);
  size_t had = share.left, begin = b->out->n, rows = 0;
  if (!write_names(g, &share, chosen, count)) return 0;
  while (rows < g->rows && write_row(&share, g->cells[rows], chosen, count)) rows++;
  if (rows) b->left -= had - share.left;
  else b->out->n = begin;
  return rows;
}
