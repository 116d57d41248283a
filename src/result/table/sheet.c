// SPDX-License-Identifier: Apache-2.0
// Rows of lines: comma-separated values, and Markdown tables, whose fields are between bars.
#include "result/table/sheet.h"

#include "base/text/utf8.h"
#include "result/table/sheet_impl.h"
#include "result/text_cut.h"
#include "result/view/no_name.h"

enum { MARKDOWN_WITHIN = 64 << 10, NAME_TOLD = 100 };

static bool is_json(const struct sheet *t) {
  return t->kind == SHEET_JSON || t->kind == SHEET_JSON_LINES;
}

// ---- headers

static void add_column(struct sheet *t, str raw, struct arena *a) {
  if (t->columns < SHEET_COLUMNS) t->names[t->columns++] = str_trim(csv_value(raw, a));
}

// Begins with a bar, and so do its rows: what is in front of that is no field.
static void skip_bar(struct sheet *t) {
  struct csv_field field;
  if (t->kind == SHEET_MARKDOWN) csv_next(&t->csv, &field);
}

static void read_header(struct sheet *t, struct arena *a) {
  struct csv_field field = {.row_end = false};
  skip_bar(t);
  while (!field.row_end && csv_next(&t->csv, &field)) add_column(t, field.raw, a);
  bool empty_end = t->kind == SHEET_MARKDOWN && t->columns && !t->names[t->columns - 1].n;
  if (empty_end) t->columns--;
  t->first = t->csv.at;
}

// |---|:--:|
static bool is_rule(str line) {
  size_t dashes = 0;
  for (size_t i = 0; i < line.n; i++) {
    if (!line.p[i] || !strchr("|-: \t", line.p[i])) return false;
    dashes += line.p[i] == '-';
  }
  return dashes > 0;
}

// Where the header of a Markdown table begins; NULL when there is none.
static const char *find_markdown(str bytes) {
  str rest = {bytes.p, bytes.n < MARKDOWN_WITHIN ? bytes.n : MARKDOWN_WITHIN}, before = STR("");
  while (rest.n) {
    str line = str_trim(measure_next_line(&rest));
    if (line.n && line.p[0] == '|' && is_rule(line) && before.n && before.p[0] == '|') return before.p;
    before = line;
  }
  return NULL;
}

static bool open_markdown(struct sheet *t, struct arena *a) {
  const char *header = find_markdown(t->bytes);
  if (!header) return false;
  t->kind = SHEET_MARKDOWN;
  csv_open(&t->csv, str_from(t->bytes, (size_t)(header - t->bytes.p)), '|');
  read_header(t, a);
  struct csv_field field = {.row_end = false};
  while (!field.row_end && csv_next(&t->csv, &field)) {
  }  // the rule
  t->first = t->csv.at;
  return true;
}

static bool open_csv(struct sheet *t, struct arena *a) {
  char delimiter = csv_detect(t->bytes);
  if (!delimiter) return false;
  t->kind = SHEET_CSV;
  csv_open(&t->csv, t->bytes, delimiter);
  read_header(t, a);
  return true;
}

bool sheet_open(struct sheet *t, str bytes, str path, struct arena *a, struct fault *f) {
  *t = (struct sheet){.bytes = bytes, .arena = a};
  if (sheet_json_open(t, path, a, f)) {
    if (t->first && t->scan.wrong) json_scan_fault(&t->scan, f);
    return t->first && !t->scan.wrong;
  }
  if (path.n) fault_set(f, FAULT_INVALID, "path leads through JSON, and this is none");
  else if (open_markdown(t, a) || open_csv(t, a)) return true;
  else fault_set(f, FAULT_INVALID, "this is no table: neither CSV, JSON rows, JSON lines nor Markdown");
  return false;
}

// ---- columns

static int find_column(const struct sheet *t, str name) {
  for (size_t i = 0; i < t->columns; i++)
    if (str_eq(t->names[i], name)) return (int)i;
  for (size_t i = 0; i < t->columns; i++)
    if (str_eq_nocase(t->names[i], name)) return (int)i;
  return -1;
}

static bool no_column(const struct sheet *t, str name, struct fault *f) {
  no_name("column", name, t->names, t->columns, f);
  return false;
}

// Fields of a Markdown table begin with a bar, and so do its rows: what is in front of that is one more.
static bool want_field(struct sheet *t, size_t i, str name, struct fault *f) {
  int column = find_column(t, name);
  if (column < 0) return no_column(t, name, f);
  uint8_t field = (uint8_t)(column + (t->kind == SHEET_MARKDOWN));
  if (memchr(t->field, field, i)) {
    fault_set(f, FAULT_INVALID, "the column \"%.*s\" is named twice", STR_ARG(utf8_cut(name, NAME_TOLD)));
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
  bool silent = !t->next_row || t->wrong;  // nothing was read, or it is known that not all was
  for (size_t i = 0; i < t->wanted_count && !silent && !sheet_all_seen(t); i++)
    if (!(t->seen >> i & 1)) return no_column(t, t->wanted[i], f);
  return true;
}

// Of JSON every name is good: rows may differ, and only the first ones were looked at.
bool sheet_want(struct sheet *t, const str *names, size_t count, struct fault *f) {
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
  t->next_row = row;
  if (is_json(t)) sheet_json_seek(t, begin);
  else csv_seek(&t->csv, begin);
}

void sheet_rewind(struct sheet *t) {
  t->next_row = 0;
  if (is_json(t)) sheet_json_rewind(t);
  else csv_seek(&t->csv, t->first);
}

static void set_field(struct cell *out, str raw) {
  out->raw = raw;
  out->kind = raw.n ? CELL_TEXT : CELL_NONE;
}

// Nothing behind the last column that is wanted is looked at.
static void read_fields(struct sheet *t) {
  str fields[SHEET_COLUMNS + 1];
  t->begin = t->csv.at;
  size_t n = csv_row(&t->csv, t->wanted_end ? t->wanted_end : 1, fields);
  if (n < t->wanted_end) memset(fields + n, 0, (t->wanted_end - n) * sizeof *fields);
  if (t->kind == SHEET_MARKDOWN)
    for (size_t i = 0; i < n; i++) fields[i] = str_trim(fields[i]);
  for (size_t i = 0; i < t->wanted_count; i++) set_field(&t->cells[i], fields[t->field[i]]);
}

// An empty line is no row.
static bool at_empty_line(const struct sheet *t, const char *end) {
  const char *p = t->csv.at;
  if (p >= end || *p > '\r') return false;
  return *p == t->csv.newline || (*p == '\r' && p + 1 < end && p[1] == '\n');
}

static bool next_fields(struct sheet *t) {
  const char *end = t->bytes.p + t->bytes.n;
  while (at_empty_line(t, end)) csv_skip_row(&t->csv);
  if (t->csv.at >= end || (t->kind == SHEET_MARKDOWN && *t->csv.at != '|')) return false;
  read_fields(t);
  return true;
}

bool sheet_next(struct sheet *t) {
  bool more = is_json(t) ? sheet_json_next(t) : next_fields(t);
  if (more) t->row = t->next_row++;
  return more;
}
