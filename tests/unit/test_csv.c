// SPDX-License-Identifier: Apache-2.0
// result/csv: fields of comma-separated values and their like.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "result/table/csv.h"

enum { ROOM = 1 << 16 };

// All fields, each in brackets, and a line for each row.
static void expect(str text, char delimiter, const char *want) {
  struct csv c;
  struct csv_field field;
  struct arena a;
  struct buf out;
  arena_init(&a);
  buf_init(&out, ROOM);
  csv_open(&c, text, delimiter);
  while (csv_next(&c, &field)) {
    buf_char(&out, '[');
    buf_str(&out, csv_value(field.raw, &a));
    buf_str(&out, field.row_end ? STR("]\n") : STR("]"));
  }
  if (!str_eq(buf_view(&out), str_of(want))) fail_msg("%.*s gives %.*s", STR_ARG(text), STR_ARG(buf_view(&out)));
  buf_done(&out);
  arena_done(&a);
}

static void fields_are_between_delimiters(void **state) {
  expect(STR("a,b,c\n1,2,3\n"), ',', "[a][b][c]\n[1][2][3]\n");
  expect(STR("a\tb\n1\t"), '\t', "[a][b]\n[1][]\n");
  expect(STR("a;b\n\n;"), ';', "[a][b]\n[]\n[][]\n");
  expect(STR(""), ',', "");
  expect(STR("\n"), ',', "[]\n");
}

static void lines_end_as_they_do_anywhere(void **state) {
  expect(STR("a,b\r\n1,2\r\n"), ',', "[a][b]\n[1][2]\n");
  expect(STR("a,b\r1,2"), ',', "[a][b]\n[1][2]\n");
  expect(STR("\xef\xbb\xbf"
             "a,b\n1,2"),
         ',', "[a][b]\n[1][2]\n");
}

static void quotes_hold_everything(void **state) {
  expect(STR("\"a,b\",\"line\nend\",\"say \"\"hi\"\"\"\nx,\"\",\"\"\"\"\n"), ',',
         "[a,b][line\nend][say \"hi\"]\n[x][][\"]\n");
}

static void quotes_in_the_wrong_place_stand_for_themselves(void **state) {
  expect(STR("5\" disk,3\" disk\n1,2\n"), ',', "[5\" disk][3\" disk]\n[1][2]\n");
  expect(STR("1,it's \"so\", yes\n\"a\",b\n"), ',', "[1][it's \"so\"][ yes]\n[a][b]\n");
  expect(STR("a,\"no end\nb,c"), ',', "[a][no end\nb,c]\n");
  expect(STR("\"a\"x,b\nc,d\n"), ',', "[a][b]\n[c][d]\n");
}

// The same fields, whether bytes are read in blocks or not.
static void reading_in_blocks_is_the_same_at_every_place(void **state) {
  for (size_t pad = 0; pad < 140; pad++) {
    struct buf text, want;
    buf_init(&text, ROOM);
    buf_init(&want, ROOM);
    for (size_t i = 0; i < pad; i++) buf_char(&text, 'x');
    buf_str(&want, buf_view(&text));
    buf_str(&text, STR(",\"a\"\"b,\r\nc\",\r\n\"q\",end"));
    struct buf full;
    buf_init(&full, ROOM);
    buf_printf(&full, "[%.*s][a\"b,\r\nc][]\n[q][end]\n%c", STR_ARG(buf_view(&want)), 0);
    str exact = {mem_alloc(text.n), text.n};
    memcpy((char *)exact.p, text.p, text.n);
    expect(exact, ',', full.p);
    mem_free((char *)exact.p);
    buf_done(&full);
    buf_done(&want);
    buf_done(&text);
  }
}

// The first two fields of each row, and how many rows there are.
static void expect_rows(str text, const char *want, size_t rows) {
  struct csv c;
  struct buf out;
  str fields[2];
  buf_init(&out, ROOM);
  csv_open(&c, text, ',');
  for (size_t n; (n = csv_row(&c, 2, fields)); rows--) {
    for (size_t i = 0; i < n; i++) buf_printf(&out, "[%.*s]", STR_ARG(fields[i]));
    buf_char(&out, '\n');
  }
  assert_int_equal(rows, 0);
  if (!str_eq(buf_view(&out), str_of(want))) fail_msg("%.*s gives %.*s", STR_ARG(text), STR_ARG(buf_view(&out)));
  buf_done(&out);
}

static void of_a_row_the_first_fields_can_be_read_alone(void **state) {
  expect_rows(STR("a,b,c\r\n1,2\r\n\r\nx\n,,\n"), "[a][b]\n[1][2]\n[]\n[x]\n[][]\n", 5);
  expect_rows(STR("\"a,\nb\",\"c\"\"\",d\n\"no end,1\n"), "[\"a,\nb\"][\"c\"\"\"]\n[\"no end,1\n]\n", 2);
  expect_rows(STR("5\" disk,b,c\nd,e"), "[5\" disk][b]\n[d][e]\n", 2);
  expect_rows(STR(""), "", 0);
}

// Rows of every length, one of them with a quote where none should be.
static void rows_are_found_wherever_blocks_end(void **state) {
  for (size_t length = 0; length < 300; length++) {
    struct buf text, want;
    buf_init(&text, ROOM);
    buf_init(&want, ROOM);
    for (size_t row = 0; row < 5; row++) {
      bool wrong = row == 3 && length % 2;
      buf_printf(&text, "%zu,%s%*d,\"x\ny\",%*d%s", row, wrong ? "5\" " : "", (int)length / 2, 1, (int)length / 3, 2,
                 row % 2 ? "\r\n" : "\n");
      buf_printf(&want, "[%zu][%s%*d]\n", row, wrong ? "5\" " : "", (int)length / 2, 1);
    }
    buf_char(&want, 0);
    str exact = {mem_alloc(text.n), text.n};
    memcpy((char *)exact.p, text.p, text.n);
    expect_rows(exact, want.p, 5);
    mem_free((char *)exact.p);
    buf_done(&want);
    buf_done(&text);
  }
}

static void the_delimiter_is_what_the_first_lines_have_in_common(void **state) {
  assert_int_equal(csv_detect(STR("a,b;c\n1,2;3\n")), ',');
  assert_int_equal(csv_detect(STR("a;b;c\n1,5;2;3\n")), ';');
  assert_int_equal(csv_detect(STR("a\tb\n1,2\t3\n")), '\t');
  assert_int_equal(csv_detect(STR("name,said\nx,\"a, b\"\n")), ',');
  assert_int_equal(csv_detect(STR("Some words, and more.\nOther words.\n")), 0);
  assert_int_equal(csv_detect(STR("one\ntwo\n")), 0);
  assert_int_equal(csv_detect(STR("")), 0);
}

static void a_value_is_written_in_quotes_when_it_needs_them(void **state) {
  struct buf out;
  buf_init(&out, ROOM);
  csv_put(&out, STR("plain"));
  buf_char(&out, ',');
  csv_put(&out, STR("a,\"b\"\n"));
  assert_true(str_eq(buf_view(&out), STR("plain,\"a,\"\"b\"\"\n\"")));
  buf_done(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_are_between_delimiters),
      cmocka_unit_test(lines_end_as_they_do_anywhere),
      cmocka_unit_test(quotes_hold_everything),
      cmocka_unit_test(quotes_in_the_wrong_place_stand_for_themselves),
      cmocka_unit_test(reading_in_blocks_is_the_same_at_every_place),
      cmocka_unit_test(of_a_row_the_first_fields_can_be_read_alone),
      cmocka_unit_test(rows_are_found_wherever_blocks_end),
      cmocka_unit_test(the_delimiter_is_what_the_first_lines_have_in_common),
      cmocka_unit_test(a_value_is_written_in_quotes_when_it_needs_them),
  };
  return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
