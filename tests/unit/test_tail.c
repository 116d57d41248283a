// SPDX-License-Identifier: Apache-2.0
// io/tail: the last lines of a program, within bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "io/stream/tail.h"

static void lines_come_back_in_order_after_a_number(void **state) {
  struct tail *t = tail_new();
  struct tail_line line;
  assert_false(tail_next(t, 0, &line));
  tail_add(t, 10, STR("one"));
  tail_add(t, 20, STR(""));
  tail_add(t, 30, STR("three"));
  assert_true(tail_next(t, 0, &line));
  assert_true(line.number == 1 && line.wall_ms == 10 && str_eq(line.text, STR("one")));
  assert_true(tail_next(t, 1, &line));
  assert_true(line.number == 2 && !line.text.n);
  assert_true(tail_next(t, 2, &line));
  assert_true(str_eq(line.text, STR("three")));
  assert_false(tail_next(t, 3, &line));
  assert_int_equal(tail_last(t), 3);
  tail_free(&t);
  assert_null(t);
}

static void the_oldest_lines_go_when_there_are_too_many(void **state) {
  struct tail *t = tail_new();
  struct tail_line line;
  char text[32];
  for (int i = 1; i <= 3 * TAIL_LINES; i++) {
    snprintf(text, sizeof text, "line %d", i);
    tail_add(t, i, str_of(text));
  }
  assert_true(tail_next(t, 0, &line));
  assert_int_equal(line.number, 2 * TAIL_LINES + 1);
  assert_true(str_eq(line.text, STR("line 401")));
  assert_int_equal(tail_last(t), 3 * TAIL_LINES);
  tail_free(&t);
}

static void the_oldest_lines_go_when_they_are_too_long(void **state) {
  static char large[TAIL_BYTES + 100];
  struct tail *t = tail_new();
  struct tail_line line;
  memset(large, 'x', sizeof large);
  tail_add(t, 1, STR("small"));
  tail_add(t, 2, (str){large, sizeof large});
  assert_true(tail_next(t, 0, &line));
  assert_int_equal(line.number, 2);
  assert_int_equal(line.text.n, TAIL_BYTES);
  tail_add(t, 3, STR("small"));
  assert_true(tail_next(t, 0, &line));
  assert_int_equal(line.number, 3);
  tail_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_come_back_in_order_after_a_number),
      cmocka_unit_test(the_oldest_lines_go_when_there_are_too_many),
      cmocka_unit_test(the_oldest_lines_go_when_they_are_too_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
