// SPDX-License-Identifier: Apache-2.0
// Opens text tables of a known format, perhaps without a header, for summaries. Also reads the rows of tables with one
// row per line: cells between pipes, and columns aligned with blanks.
#include "base/ascii.h"
#include "base/assert.h"
#include "result/table/sheet_impl.h"
#include "result/text_cut.h"

enum { NAME_BYTES = 64, SAMPLE_ROWS = 60 };

// ---- lines ----

size_t sheet_rule(str line) {
  size_t dashes = 0;
  for (size_t i = 0; i < line.n; i++) {
    if (!line.p[i] || !strchr("-+|:= \t", line.p[i])) return 0;
    dashes += line.p[i] == '-' || line.p[i] == '=';
  }
  return dashes;
}

static bool is_rule(str line) {
  return sheet_rule(line) >= 3;
}

static size_t split_pipes(str line, str *out) {
  size_t count = 0;
  line = str_trim(line);
  if (line.n && line.p[0] == '|') line = str_from(line, 1);
  if (line.n && line.p[line.n - 1] == '|') line.n--;
  for (bool more = true; more && count < SHEET_LISTED; count++) {
    more = str_cut(line, '|', &out[count], &line);
    out[count] = str_trim(out[count]);
  }
  return count;
}

// Splits a line at each run of two or more blanks.
static size_t split_wide(str line, str *out) {
  size_t count = 0, at = 0;
  while (at < line.n && count < SHEET_LISTED) {
    while (at < line.n && line.p[at] == ' ') at++;
    size_t begin = at;
    while (at < line.n && !(line.p[at] == ' ' && (at + 1 == line.n || line.p[at + 1] == ' '))) at++;
    if (at > begin) out[count++] = (str){line.p + begin, at - begin};
  }
  return count;
}

// Splits a line into at most `max` cells. Each cell is one word, but cell number `max` is the whole rest of the line.
static size_t split_words(str line, size_t max, str *out) {
  size_t count = 0;
  for (str rest = str_trim(line); rest.n && count < max; rest = str_trim(rest)) {
    const char *blank = count + 1 < max ? memchr(rest.p, ' ', rest.n) : NULL;
    size_t n = blank ? (size_t)(blank - rest.p) : rest.n;
    out[count++] = (str){rest.p, n};
    rest = str_from(rest, n);
  }
  return count;
}

size_t sheet_split_line(const struct sheet *t, str line, str *out) {
  if (t->kind == SHEET_PIPES) return memchr(line.p, '|', line.n) && !is_rule(line) ? split_pipes(line, out) : 0;
  if (!str_trim(line).n) return 0;
  if (!t->by_place) return split_words(line, t->columns, out);
  for (size_t i = 0; i < t->columns; i++) {
    size_t begin = t->starts[i], end = i + 1 < t->columns ? t->starts[i + 1] : line.n;
    str rest = str_from(line, begin < line.n ? begin : line.n);
    out[i] = str_trim((str){rest.p, end > begin && end - begin < rest.n ? end - begin : rest.n});
  }
  return t->columns;
}

size_t sheet_listed(struct sheet *t, str out[SHEET_LISTED]) {
  size_t n = sheet_fields(t, SHEET_LISTED, out);
  if (n < SHEET_LISTED || t->kind != SHEET_CSV) return n;
  const char *end = t->csv.at - 1;  // end of the row
  if (end > out[n - 1].p && end[-1] == '\r') end--;
  out[n - 1].n = (size_t)(end - out[n - 1].p);
  return n;
}

size_t sheet_count(const struct sheet *t) {
  str body = str_from(t->bytes, (size_t)(t->first - t->bytes.p)), fields[SHEET_LISTED];
  size_t count = 0;
  ASSERT(t->kind == SHEET_CSV || t->kind == SHEET_PIPES || t->kind == SHEET_ALIGNED);
  if (t->kind == SHEET_CSV) return csv_count(&t->csv, body);
  if (t->kind == SHEET_ALIGNED) return measure_lines(body);
  while (body.n) count += sheet_split_line(t, measure_next_line(&body), fields) > 0;
  return count;
}

// ---- the header ----

static bool is_name(str s) {
  if (!s.n || s.n > NAME_BYTES || ascii_is_digit(*s.p) || *s.p == '"') return false;
  char last = s.p[s.n - 1];
  return last != '.' && last != ';' && last != '{' && !memchr(s.p, '=', s.n) && !text_looks_numeric(s);
}

static bool are_names(const str *cells, size_t count) {
  size_t names = 0, empty = 0;
  for (size_t i = 0; i < count; i++) {
    names += is_name(cells[i]);
    empty += !cells[i].n;
    for (size_t k = 0; k < i; k++)
      if (cells[i].n && str_eq(cells[i], cells[k])) return false;
  }
  return names && names + empty == count && empty <= count / 3;
}

static void set_header(struct sheet *t, const str *names, size_t count, const char *first) {
  ASSERT(count <= SHEET_LISTED);
  t->columns = count;
  if (count) memcpy(t->names, names, count * sizeof *names);
  t->first = first;
}

static bool open_csv(struct sheet *t, char delimiter) {
  str names[SHEET_LISTED];
  csv_open(&t->csv, t->bytes, delimiter);
  const char *begin = t->csv.at;
  size_t count = sheet_listed(t, names);
  for (size_t i = 0; i < count; i++) {
    struct cell cell = {names[i], CELL_TEXT};
    names[i] = cell_inside(&cell);
  }
  t->named = are_names(names, count);
  const char *end = t->bytes.p + t->bytes.n, *next = t->csv.at < end ? t->csv.at : end;
  set_header(t, names, count, t->named ? next : begin);
  return count >= 2;
}

// Opens a table with pipes. A line of dashes must follow the header; mysql prints such a line before the header, too.
static bool open_pipes(struct sheet *t) {
  str names[SHEET_LISTED], rest = t->bytes, line = STR("");
  while (rest.n && (!str_trim(line).n || is_rule(line))) line = measure_next_line(&rest);
  size_t count = split_pipes(line, names);
  if (count < 2 || !rest.n || !is_rule(measure_next_line(&rest))) return false;
  set_header(t, names, count, rest.p);
  return t->named = true;
}

static bool is_capitals(str header) {
  size_t upper = 0, lower = 0;
  for (size_t i = 0; i < header.n; i++) {
    upper += ascii_is_upper(header.p[i]);
    lower += ascii_is_lower(header.p[i]);
  }
  return upper > 2 && lower * 2 <= upper;
}

// Returns whether most rows fit the header. If by_place is set, a row fits if there is a blank before the offset of
// each column. Otherwise a row fits if it has as many words as the header has columns.
static bool rows_fit(const struct sheet *t, str body) {
  size_t rows = 0, good = 0;
  while (body.n && rows < SAMPLE_ROWS) {
    str line = measure_next_line(&body), words[SHEET_LISTED];
    if (!str_trim(line).n) continue;
    bool fits = t->by_place || split_words(line, t->columns, words) == t->columns;
    for (size_t i = 1; i < t->columns && t->by_place && fits; i++)
      fits = t->starts[i] >= line.n || (line.p[t->starts[i] - 1] == ' ' && line.p[t->starts[i]] != ' ');
    rows++;
    good += fits;
  }
  return rows && good * 10 >= rows * 8;
}

static bool open_aligned(struct sheet *t) {
  str names[SHEET_LISTED], rest = t->bytes, header = measure_next_line(&rest);
  size_t count = split_wide(header, names);
  if (!is_capitals(header)) return false;
  t->named = t->by_place = true;
  set_header(t, names, count, rest.p);
  for (size_t i = 0; i < count; i++) t->starts[i] = (size_t)(names[i].p - header.p);
  if (count >= 2 && rows_fit(t, rest)) return true;
  t->by_place = false;
  set_header(t, names, split_words(header, SHEET_LISTED, names), rest.p);
  return t->columns >= 3 && rows_fit(t, rest);
}

bool sheet_open_as(struct sheet *t, str text, enum sheet_kind kind, char delimiter) {
  ASSERT(kind == SHEET_CSV || kind == SHEET_PIPES || kind == SHEET_ALIGNED);
  *t = (struct sheet){.kind = kind, .bytes = text};
  bool ok = kind == SHEET_CSV ? open_csv(t, delimiter) : kind == SHEET_PIPES ? open_pipes(t) : open_aligned(t);
  if (ok) sheet_rewind(t);
  return ok;
}
