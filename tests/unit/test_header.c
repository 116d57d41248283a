// SPDX-License-Identifier: Apache-2.0
// mcp/header: values that a stateless request repeats in its headers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcp/header.h"

static void assert_line(str value, const char *want) {
  struct buf b;
  buf_init(&b, 4096);
  header_put(&b, STR("Mcp-Name"), value);
  char line[256];
  snprintf(line, sizeof line, "Mcp-Name: %s\r\n", want);
  if (!str_eq(buf_view(&b), str_of(line))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&b)), line);
  buf_done(&b);
}

static void what_a_header_can_hold_goes_as_it_is(void **state) {
  static const char *const table[] = {
      "x",
      "us-west1",
      "a b",
      "a\tb",
      "~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}",
      "=?base64?",
      "?=",
      "=?BASE64?QQ==?=",
      "x=?base64?QQ==?=",
      "=?base64?QQ==?=x",
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) assert_line(str_of(table[i]), table[i]);
}

static void everything_else_goes_as_base64(void **state) {
  static const struct {
    str value;
    const char *line;
  } table[] = {
      {STR(""), "=?base64?\?="},
      {STR(" "), "=?base64?IA==?="},
      {STR(" a"), "=?base64?IGE=?="},
      {STR("a "), "=?base64?YSA=?="},
      {STR("a\t"), "=?base64?YQk=?="},
      {STR("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?="},
      {STR("a\r\nX: y"), "=?base64?YQ0KWDogeQ==?="},
      {STR("a\0b"), "=?base64?YQBi?="},
      {STR("\x7f"), "=?base64?fw==?="},
      {STR("Hello, \xe4\xb8\x96\xe7\x95\x8c"), "=?base64?SGVsbG8sIOS4lueVjA==?="},
      {STR("=?base64?QQ==?="), "=?base64?PT9iYXNlNjQ/UVE9PT89?="},
      {STR("=?base64?\?="), "=?base64?PT9iYXNlNjQ/Pz0=?="},
      {STR("=?base64?="), "=?base64?PT9iYXNlNjQ/PQ==?="},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) assert_line(table[i].value, table[i].line);
}

static void no_value_can_end_its_line(void **state) {
  for (int c = 0; c < 256; c++) {
    char value[3] = {'a', (char)c, 'b'};
    struct buf b;
    buf_init(&b, 256);
    header_put(&b, STR("N"), (str){value, 3});
    for (size_t i = 0; i + 2 < b.n; i++) assert_true(b.p[i] == '\t' || (b.p[i] >= 0x20 && b.p[i] < 0x7f));
    assert_memory_equal(b.p + b.n - 2, "\r\n", 2);
    buf_done(&b);
  }
}

static void what_was_put_is_the_same_when_it_is_read(void **state) {
  static const str table[] = {
      STR("x"),          STR("a\tb"), STR(""),         STR(" "),
      STR("\t a \t"),    STR("\r\n"), STR("\xc3\xa4"), STR("=?base64?QQ==?="),
      STR("=?base64?="), STR("a\0b"), STR("ab"),       STR("abc\n"),
      STR("=?base64?"),
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct buf b;
    buf_init(&b, 256);
    header_put(&b, STR("N"), table[i]);
    str value = {b.p + 3, b.n - 5};
    for (size_t j = 0; j < sizeof table / sizeof *table; j++)
      assert_int_equal(header_compare(value, table[j]), i == j ? HEADER_SAME : HEADER_DIFFERENT);
    buf_done(&b);
  }
}

static void a_header_is_compared_by_what_it_says(void **state) {
  static const struct {
    str header, value;
    enum header_match match;
  } table[] = {
      {STR("a"), STR("a"), HEADER_SAME},
      {STR(" \ta\t "), STR("a"), HEADER_SAME},
      {STR("a"), STR(" a"), HEADER_DIFFERENT},
      {STR("A"), STR("a"), HEADER_DIFFERENT},
      {STR(""), STR(""), HEADER_SAME},
      {STR(""), STR("a"), HEADER_DIFFERENT},
      {STR("=?base64?YQ==?="), STR("a"), HEADER_SAME},  // needlessly, but it says so
      {STR("  =?base64?YQ==?= "), STR("a"), HEADER_SAME},
      {STR("=?base64?YQ==?="), STR("=?base64?YQ==?="), HEADER_DIFFERENT},
      {STR("=?Base64?YQ==?="), STR("a"), HEADER_DIFFERENT},  // the word is lower-case, else this is a value
      {STR("=?base64?YQ=="), STR("a"), HEADER_DIFFERENT},
      {STR("=?base64?\?="), STR(""), HEADER_SAME},
      {STR("=?base64?="), STR(""), HEADER_SAME},
      {STR("=?base64?YQ?="), STR("a"), HEADER_MALFORMED},
      {STR("=?base64?YQ=?="), STR("a"), HEADER_MALFORMED},
      {STR("=?base64?Y?="), STR("a"), HEADER_MALFORMED},
      {STR("=?base64?=?="), STR("a"), HEADER_MALFORMED},
      {STR("=?base64?====?="), STR(""), HEADER_MALFORMED},
      {STR("=?base64?YQ==YQ==?="), STR("aa"), HEADER_MALFORMED},
      {STR("=?base64?Y Q==?="), STR("a"), HEADER_MALFORMED},
      {STR("=?base64?_-8=?="), STR("a"), HEADER_MALFORMED},
      {STR("=?base64?/+8=?="), STR("a"), HEADER_MALFORMED},  // well coded, and not UTF-8
      {STR("\xc3\xa4"), STR("\xc3\xa4"), HEADER_MALFORMED},
      {STR("a\x01"), STR("a\x01"), HEADER_MALFORMED},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (header_compare(table[i].header, table[i].value) != table[i].match)
      fail_msg("%.*s against %.*s", STR_ARG(table[i].header), STR_ARG(table[i].value));
}

static void a_line_that_does_not_fit_says_so(void **state) {
  struct buf b;
  buf_init(&b, 16);
  header_put(&b, STR("Mcp-Name"), STR("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"));
  assert_true(b.over);
  buf_done(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_header_can_hold_goes_as_it_is),
      cmocka_unit_test(everything_else_goes_as_base64),
      cmocka_unit_test(no_value_can_end_its_line),
      cmocka_unit_test(what_was_put_is_the_same_when_it_is_read),
      cmocka_unit_test(a_header_is_compared_by_what_it_says),
      cmocka_unit_test(a_line_that_does_not_fit_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
