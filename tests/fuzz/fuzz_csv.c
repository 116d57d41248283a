// SPDX-License-Identifier: Apache-2.0
// Comma-separated values. The first byte is the delimiter, the rest the text. Fields lie in the text and follow each
// other without a gap, rows can be read again from where they begin
// and as a whole, and what is written can be read back.
#include "base/assert.h"
#include "base/buf.h"
#include "result/table/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { ROWS_AGAIN = 20, FIELDS = 4 };

static void check_value(str raw, struct arena *a) {
  struct buf text;
  struct csv c;
  struct csv_field field;
  str value = csv_value(raw, a);
  ASSERT(value.n <= raw.n);
  buf_init(&text, 2 * value.n + 16);
  csv_put(&text, value);
  buf_char(&text, '\n');
  csv_open(&c, buf_view(&text), ',');
  bool mark = str_starts(value, STR("\xef\xbb\xbf")), old = memchr(text.p, '\r', text.n) && value.p != raw.p;
  if (!mark && !old && csv_next(&c, &field) && field.row_end) ASSERT(str_eq(csv_value(field.raw, a), value));
  buf_done(&text);
}

// The row that begins here has the same fields when it is read by itself.
static void check_row(const struct csv *c, const char *row, const struct csv_field *first) {
  struct csv again = *c;
  struct csv_field field;
  csv_seek(&again, row);
  ASSERT(csv_next(&again, &field));
  ASSERT(field.raw.p == first->raw.p);
  if (!c->careful) ASSERT(again.careful || field.raw.n == first->raw.n);
}

// Rows read as such are those that are read field by field.
static void check_rows(str text, char delimiter) {
  struct csv c, by_row;
  struct csv_field field = {.row_end = false};
  str fields[FIELDS];
  csv_open(&c, text, delimiter);
  csv_open(&by_row, text, delimiter);
  for (size_t count; (count = csv_row(&by_row, FIELDS, fields));) {
    for (size_t i = 0; i < count; i++) {
      ASSERT(csv_next(&c, &field));
      ASSERT(fields[i].p == field.raw.p && fields[i].n == field.raw.n);
    }
    ASSERT(field.row_end || count == FIELDS);
    while (!field.row_end) ASSERT(csv_next(&c, &field));
    ASSERT(by_row.at == c.at);
  }
  ASSERT(!csv_next(&c, &field));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct csv c;
  struct csv_field field;
  if (!n || data[0] == '"' || data[0] == '\n' || data[0] == '\r') return 0;
  str text = {(const char *)data + 1, n - 1};
  arena_init(&a);
  csv_open(&c, text, (char)data[0]);
  const char *at = c.at;
  bool row_begins = true;
  for (size_t fields = 0, rows = 0; csv_next(&c, &field); fields++) {
    ASSERT(field.raw.p == at && field.raw.p + field.raw.n <= text.p + text.n);
    if (row_begins && rows++ < ROWS_AGAIN) check_row(&c, at, &field);
    check_value(field.raw, &a);
    row_begins = field.row_end;
    at = c.at;
    ASSERT(fields <= n);
  }
  check_rows(text, (char)data[0]);
  csv_detect(text);
  arena_done(&a);
  return 0;
}
