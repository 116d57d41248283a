// SPDX-License-Identifier: Apache-2.0
#include "result/table/sheet.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "result/table/sheet_impl.h"
#include "result/text_cut.h"
#include "result/view/no_name.h"

enum { MARKDOWN_WITHIN = 64 << 10, NAME_SHOWN = 100 };

static bool is_json(const struct sheet *t) {
  return t->kind >= SHEET_JSON;
}

static const char *end_of(const struct sheet *t) {
  return t->bytes.p + t->bytes.n;
}

// ---- opening

// Reads the names of the columns. Each line of a Markdown table begins with a pipe; the empty field before this pipe is
// skipped.
static void read_header(struct sheet *t, struct arena *a) {
  struct csv_field field = {.row_end = false};
  if (t->kind == SHEET_MARKDOWN) csv_next(&t->csv, &field);
  while (!field.row_end && csv_next(&t->csv, &field))
    if (t->columns < SHEET_COLUMNS) t->names[t->columns++] = str_trim(csv_value(field.raw, a));
  bool empty_end = t->kind == SHEET_MARKDOWN && t->columns && !t->names[t->columns - 1].n;
  if (empty_end) t->columns--;
  if (t->kind == SHEET_MARKDOWN) csv_skip_row(&t->csv);  // the line of dashes
  t->named = true;
  t->first = t->csv.at;
}

static bool open_markdown(struct sheet *t, struct arena *a) {
  str rest = {t->bytes.p, t->bytes.n < MARKDOWN_WITHIN ? t->bytes.n : MARKDOWN_WITHIN}, header = STR("");
  while (rest.n) {
    str line = str_trim(measure_next_line(&rest));
    if (line.n && line.p[0] == '|' && sheet_rule(line) && header.n && header.p[0] == '|') {
      t->kind = SHEET_MARKDOWN;
      csv_open(&t->csv, str_from(t->bytes, (size_t)(header.p - t->bytes.p)), '|');
      read_header(t, a);
      return true;
    }
    header = line;
  }
  return false;
}

bool sheet_open(struct sheet *t, str bytes, str path, struct arena *a, struct fault *f) {
  char delimiter;
  *t = (struct sheet){.bytes = bytes, .arena = a};
  if (sheet_json_open(t, path, a, f)) {
    t->named = true;
    if (t->first && t->scan.wrong) json_scan_fault(&t->scan, f);
    return t->first && !t->scan.wrong;
  }
  if (path.n) {
    fault_set(f, FAULT_INVALID, "path needs JSON, but the text is not JSON");
  } else if (open_markdown(t, a)) {
    return true;
  } else if ((delimiter = csv_detect(t->bytes))) {
    t->kind = SHEET_CSV;
    csv_open(&t->csv, t->bytes, delimiter);
    read_header(t, a);
    return true;
  } else {
    fault_set(f, FAULT_INVALID,
              "the text is not a table: it is neither CSV, JSON rows, JSON lines nor a Markdown table");
  }
  return false;
}

// ---- columns

static bool no_column(const struct sheet *t, str name, struct fault *f) {
  no_name("column", name, t->names, t->columns, f);
  return false;
}

// Returns the index of a column, or t->columns if there is no such column. Ignores case if no name matches exactly.
static size_t find_column(const struct sheet *t, str name) {
  for (size_t i = 0; i < t->columns; i++)
    if (str_eq(t->names[i], name)) return i;
  size_t i = 0;
  while (i < t->columns && !str_eq_nocase(t->names[i], name)) i++;
  return i;
}

// Sets the field number of the wanted column `i`. In a Markdown row, the empty field before the first pipe is field 0.
static bool want_field(struct sheet *t, size_t i, str name, struct fault *f) {
  size_t column = find_column(t, name);
  if (column == t->columns) return no_column(t, name, f);
  uint8_t field = (uint8_t)(column + (t->kind == SHEET_MARKDOWN));
  if (memchr(t->field, field, i)) {
    fault_set(f, FAULT_INVALID, "column \"%.*s\" is selected more than once", STR_ARG(utf8_cut(name, NAME_SHOWN)));
    return false;
  }
  t->field[i] = field;
  if (field >= t->wanted_end) t->wanted_end = (size_t)field + 1;
  return true;
}

bool sheet_all_seen(const struct sheet *t) {
  uint64_t all = t->wanted_count == SHEET_COLUMNS ? UINT64_MAX : ((uint64_t)1 << t->wanted_count) - 1;
  return !is_json(t) || t->seen == all;
}

bool sheet_has_wanted(const struct sheet *t, struct fault *f) {
  bool unknown = !t->next_row || t->wrong;  // unknown if no row was read, or if invalid JSON ended the rows early
  for (size_t i = 0; i < t->wanted_count && !unknown && !sheet_all_seen(t); i++)
    if (!(t->seen >> i & 1)) return no_column(t, t->wanted[i], f);
  return true;
}

// For JSON, accepts every name: only the first rows were read to find names, and later rows may have other members.
bool sheet_want(struct sheet *t, const str *names, size_t count, struct fault *f) {
  ASSERT(count <= SHEET_COLUMNS);
  t->wanted_count = t->wanted_end = 0;
  t->seen = 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_json(t) && !want_field(t, i, names[i], f)) return false;
    t->wanted[i] = names[i];
  }
  t->wanted_count = count;
  if (is_json(t)) sheet_json_want(t);
  return true;
}

// ---- rows

void sheet_seek(struct sheet *t, const char *begin, size_t row) {
  ASSERT(begin >= t->bytes.p && begin <= end_of(t) + 1);
  t->next_row = row;
  if (is_json(t)) sheet_json_seek(t, begin);
  else csv_seek(&t->csv, begin);
}

void sheet_rewind(struct sheet *t) {
  t->next_row = 0;
  if (is_json(t)) sheet_json_rewind(t);
  else csv_seek(&t->csv, t->first);
}

// Reads lines until a line is a row. Returns the row's number of fields, or 0 at the end of the table.
static size_t split_next_line(struct sheet *t, str *out) {
  size_t n = 0;
  while (!n && t->csv.at < end_of(t)) {
    str rest = {t->csv.at, (size_t)(end_of(t) - t->csv.at)};
    t->begin = rest.p;
    n = sheet_split_line(t, measure_next_line(&rest), out);
    t->csv.at = rest.p;
  }
  return n;
}

// Returns whether the next line is empty, and so is not a row.
static inline bool at_empty_line(const struct sheet *t, const char *end) {
  const char *p = t->csv.at;
  if (p >= end || *p > '\r') return false;
  return *p == t->csv.newline || (*p == '\r' && p + 1 < end && p[1] == '\n');
}

size_t sheet_fields(struct sheet *t, size_t max, str *out) {
  const char *end = end_of(t);
  if (t->kind == SHEET_PIPES || t->kind == SHEET_ALIGNED) return split_next_line(t, out);
  while (at_empty_line(t, end)) csv_skip_row(&t->csv);
  if (t->csv.at >= end || (t->kind == SHEET_MARKDOWN && *t->csv.at != '|')) return 0;
  t->begin = t->csv.at;
  size_t n = csv_row(&t->csv, max, out);
  for (size_t i = 0; t->kind == SHEET_MARKDOWN && i < n; i++) out[i] = str_trim(out[i]);
  return n;
}

// Reads a row only up to the last wanted column.
bool sheet_next(struct sheet *t) {
  str fields[SHEET_COLUMNS + 1];
  if (is_json(t)) {
    if (!sheet_json_next(t)) return false;
  } else {
    size_t n = sheet_fields(t, t->wanted_end ? t->wanted_end : 1, fields);
    if (!n) return false;
    if (n < t->wanted_end) memset(fields + n, 0, (t->wanted_end - n) * sizeof *fields);
    for (size_t i = 0; i < t->wanted_count; i++) t->cells[i] = cell_of_field(fields[t->field[i]]);
  }
  t->row = t->next_row++;
  return true;
}
