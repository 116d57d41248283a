// SPDX-License-Identifier: Apache-2.0
#include "result/table/table_rows.h"

#include "base/ascii.h"
#include "base/text/block.h"
#include "result/text_cut.h"

enum {
  NAME_BYTES = 64,
  SAMPLE_ROWS = 60,
  RECORD_BYTES = 64 << 10,  // a quote that does not end by then was none
};

// ---- fields with a separator between ----

// A record ends at the end of a line that is not inside quotes.
static str next_record(str *rest) {
  str all = *rest;
  size_t at = 0, near = all.n < RECORD_BYTES ? all.n : RECORD_BYTES;
  for (bool quoted = false; at < near && (quoted || all.p[at] != '\n'); at++) quoted ^= all.p[at] == '"';
  if (at == near && at < all.n) return measure_next_line(rest);
  *rest = str_from(all, at + 1);
  if (at && all.p[at - 1] == '\r') at--;
  return (str){all.p, at};
}

static size_t field_length(str record, char separator) {
  size_t i = 0;
  bool quoted = false;
  for (; i < record.n && (quoted || record.p[i] != separator); i++) quoted ^= record.p[i] == '"';
  return i;
}

static str without_quotes(str s) {
  s = str_trim(s);
  return s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"' ? (str){s.p + 1, s.n - 2} : s;
}

static size_t split_fields(str record, char separator, str cells[TABLE_COLUMNS]) {
  size_t count = 0;
  for (;;) {
    bool last = count + 1 == TABLE_COLUMNS;
    size_t n = last ? record.n : field_length(record, separator);
    cells[count++] = without_quotes((str){record.p, n});
    if (n == record.n) return count;
    record = str_from(record, n + 1);
  }
}

// ---- cells between pipes ----

static bool is_rule(str line) {
  size_t dashes = 0;
  for (size_t i = 0; i < line.n; i++) {
    if (!line.p[i] || !strchr("-+|:= \t", line.p[i])) return false;
    dashes += line.p[i] == '-' || line.p[i] == '=';
  }
  return dashes >= 3;
}

static size_t split_pipes(str line, str cells[TABLE_COLUMNS]) {
  size_t count = 0;
  line = str_trim(line);
  if (line.n && line.p[0] == '|') line = str_from(line, 1);
  if (line.n && line.p[line.n - 1] == '|') line.n--;
  for (str cell, tail = line; tail.p && count < TABLE_COLUMNS;) {
    bool more = str_cut(tail, '|', &cell, &tail);
    cells[count++] = str_trim(cell);
    if (!more) break;
  }
  return count;
}

// ---- columns of blanks ----

// Cells that have at least two blanks between them.
static size_t split_wide(str line, str cells[TABLE_COLUMNS]) {
  size_t count = 0, at = 0;
  while (at < line.n && count < TABLE_COLUMNS) {
    while (at < line.n && line.p[at] == ' ') at++;
    size_t begin = at;
    while (at < line.n && !(line.p[at] == ' ' && (at + 1 == line.n || line.p[at + 1] == ' '))) at++;
    if (at > begin) cells[count++] = (str){line.p + begin, at - begin};
  }
  return count;
}

// Single words; the last of `max` cells is all that is left.
static size_t split_words(str line, size_t max, str cells[TABLE_COLUMNS]) {
  size_t count = 0;
  for (str rest = str_trim(line); rest.n && count < max; rest = str_trim(rest)) {
    const char *blank = count + 1 < max ? memchr(rest.p, ' ', rest.n) : NULL;
    size_t n = blank ? (size_t)(blank - rest.p) : rest.n;
    cells[count++] = (str){rest.p, n};
    rest = str_from(rest, n);
  }
  return count;
}

static size_t split_places(const struct table *t, str line, str cells[TABLE_COLUMNS]) {
  for (size_t i = 0; i < t->columns; i++) {
    size_t begin = t->starts[i], end = i + 1 < t->columns ? t->starts[i + 1] : line.n;
    str rest = str_from(line, begin < line.n ? begin : line.n);
    cells[i] = str_trim((str){rest.p, end > begin && end - begin < rest.n ? end - begin : rest.n});
  }
  return t->columns;
}

// ---- rows ----

static size_t split_line(const struct table *t, str line, str cells[TABLE_COLUMNS]) {
  if (t->form == TABLE_PIPES) return is_rule(line) ? 0 : split_pipes(line, cells);
  if (!str_trim(line).n) return 0;
  return t->by_place ? split_places(t, line, cells) : split_words(line, t->columns, cells);
}

size_t table_next(const struct table *t, str *rest, str cells[TABLE_COLUMNS]) {
  while (rest->n) {
    if (t->form == TABLE_SEPARATED) {
      str record = next_record(rest);
      if (record.n) return split_fields(record, t->separator, cells);
    } else {
      str line = measure_next_line(rest);
      bool row = t->form != TABLE_PIPES || memchr(line.p, '|', line.n);
      size_t count = row ? split_line(t, line, cells) : 0;
      if (count) return count;
    }
  }
  return 0;
}

// Line ends outside of quotes.
static size_t count_records(str text) {
  size_t count = 0, at = 0;
  uint64_t inside = 0;
  for (; text.n - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
    struct block b = block_load(text.p + at);
    uint64_t quoted = block_between(block_is(b, '"')) ^ inside;
    inside = (uint64_t)((int64_t)quoted >> 63);
    count += block_count(block_is(b, '\n') & ~quoted);
  }
  for (bool quoted = inside != 0; at < text.n; at++) {
    quoted ^= text.p[at] == '"';
    count += text.p[at] == '\n' && !quoted;
  }
  return count + (text.n && text.p[text.n - 1] != '\n');
}

size_t table_count(const struct table *t) {
  if (t->form == TABLE_SEPARATED) return count_records(t->body);
  if (t->form == TABLE_ALIGNED) return measure_lines(t->body);
  str cells[TABLE_COLUMNS], rest = t->body;
  size_t count = 0;
  while (table_next(t, &rest, cells)) count++;
  return count;
}

// ---- the header ----

static bool is_number(str s) {
  size_t digits = 0;
  for (size_t i = 0; i < s.n; i++) {
    if (ascii_is_digit(s.p[i])) digits++;
    else if (!s.p[i] || !strchr("+-.,eE%$", s.p[i])) return false;
  }
  return digits > 0;
}

static bool is_name(str s) {
  if (!s.n || s.n > NAME_BYTES || ascii_is_digit(*s.p) || is_number(s)) return false;
  char last = s.p[s.n - 1];
  return *s.p != '"' && last != '.' && last != ';' && last != '{' && !memchr(s.p, '=', s.n);
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

static void keep_names(struct table *t, const str *cells, size_t count) {
  t->columns = count;
  memcpy(t->names, cells, count * sizeof *cells);
}

static bool open_separated(str text, struct table *t) {
  str cells[TABLE_COLUMNS], rest = text;
  size_t count = table_next(t, &rest, cells);
  keep_names(t, cells, count);
  t->named = are_names(cells, count);
  t->body = t->named ? rest : text;
  return count >= 2;
}

// mysql puts a rule before the header, all put one behind it.
static bool open_pipes(str text, struct table *t) {
  str cells[TABLE_COLUMNS], rest = text, line = STR("");
  while (rest.n && (!str_trim(line).n || is_rule(line))) line = measure_next_line(&rest);
  size_t count = split_pipes(line, cells);
  if (count < 2 || !rest.n || !is_rule(measure_next_line(&rest))) return false;
  keep_names(t, cells, count);
  t->named = true;
  t->body = rest;
  return true;
}

static bool has_capitals(str header) {
  size_t upper = 0, lower = 0;
  for (size_t i = 0; i < header.n; i++) {
    upper += ascii_is_upper(header.p[i]);
    lower += ascii_is_lower(header.p[i]);
  }
  return upper > 2 && lower * 2 <= upper;
}

// Every row has a blank before each column of the header.
static bool rows_keep_places(const struct table *t, str body) {
  size_t rows = 0, good = 0;
  while (body.n && rows < SAMPLE_ROWS) {
    str line = measure_next_line(&body);
    if (!str_trim(line).n) continue;
    bool fits = true;
    for (size_t i = 1; i < t->columns && fits; i++)
      fits = t->starts[i] >= line.n || (line.p[t->starts[i] - 1] == ' ' && line.p[t->starts[i]] != ' ');
    rows++;
    good += fits;
  }
  return rows && good * 10 >= rows * 8;
}

static bool rows_have_words(const struct table *t, str body) {
  str cells[TABLE_COLUMNS];
  size_t rows = 0, good = 0;
  while (body.n && rows < SAMPLE_ROWS) {
    str line = measure_next_line(&body);
    if (!str_trim(line).n) continue;
    rows++;
    good += split_words(line, t->columns, cells) == t->columns;
  }
  return rows && good * 10 >= rows * 8;
}

static bool open_aligned(str text, struct table *t) {
  str cells[TABLE_COLUMNS], rest = text, header = measure_next_line(&rest);
  size_t count = split_wide(header, cells);
  if (!has_capitals(header)) return false;
  t->named = true;
  t->body = rest;
  keep_names(t, cells, count);
  for (size_t i = 0; i < count; i++) t->starts[i] = (size_t)(cells[i].p - header.p);
  t->by_place = true;
  if (count >= 2 && rows_keep_places(t, rest)) return true;
  t->by_place = false;
  keep_names(t, cells, split_words(header, TABLE_COLUMNS, cells));
  return t->columns >= 3 && rows_have_words(t, rest);
}

bool table_open(str text, const struct content *c, struct table *out) {
  struct table t = {.form = c->form, .separator = c->separator};
  bool ok = c->form == TABLE_SEPARATED ? open_separated(text, &t)
            : c->form == TABLE_PIPES   ? open_pipes(text, &t)
                                       : open_aligned(text, &t);
  if (ok) *out = t;
  return ok;
}

// ---- is it one? ----

// In prose a blank follows a comma.
static bool reads_as_prose(str text, char separator) {
  size_t marks = 0, blanks = 0;
  for (size_t i = 0; i + 1 < text.n; i++) {
    if (text.p[i] != separator) continue;
    marks++;
    blanks += text.p[i + 1] == ' ';
  }
  return separator != '\t' && blanks * 2 > marks;
}

static bool fits_separator(str text, struct content *c) {
  struct table t;
  str cells[TABLE_COLUMNS];
  size_t rows = 0, same = 0, numbers = 0;
  if (reads_as_prose(text, c->separator) || !table_open(text, c, &t)) return false;
  for (str rest = t.body; rest.n && rows < SAMPLE_ROWS; rows++) {
    size_t count = table_next(&t, &rest, cells);
    same += count == t.columns;
    for (size_t i = 0; i < count; i++) numbers += is_number(cells[i]);
  }
  if (rows < 2 || same * 10 < rows * 9) return false;
  return t.named || (t.columns >= 3 && numbers >= rows);
}

static bool fits_pipes(str text, const str *lines, size_t count, const struct content *c) {
  struct table t;
  size_t piped = 0, filled = 0;
  for (size_t i = 0; i < count; i++) {
    if (!str_trim(lines[i]).n) continue;
    filled++;
    piped += memchr(lines[i].p, '|', lines[i].n) != NULL || is_rule(lines[i]);
  }
  return filled >= 3 && piped * 10 >= filled * 8 && table_open(text, c, &t);
}

bool table_fits(const str *lines, size_t count, struct content *c) {
  static const char separators[] = "\t,;|";
  struct table t;
  str text = {lines[0].p, (size_t)(lines[count - 1].p + lines[count - 1].n - lines[0].p)};
  if (count < 3) return false;
  if (c->form == TABLE_PIPES) {
    c->what = "table";
    return fits_pipes(text, lines, count, c);
  }
  if (c->form == TABLE_ALIGNED) {
    c->what = "table";
    return table_open(text, c, &t);
  }
  for (size_t i = 0; separators[i]; i++) {
    c->separator = separators[i];
    c->what = separators[i] == '\t' ? "TSV" : "CSV";
    if (fits_separator(text, c)) return true;
  }
  return false;
}
