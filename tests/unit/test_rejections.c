// SPDX-License-Identifier: Apache-2.0
// Those who are not let in: how many of them get a line, however many there are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/rejections.h"
#include "observe/metrics.h"

enum { MINUTE = 60000 };

static unsigned lines_of(struct rejections *r, enum rejection why, unsigned count, uint64_t now, uint64_t *omitted) {
  unsigned lines = 0;
  for (unsigned i = 0; i < count; i++) lines += rejections_may_log(r, why, now, omitted);
  return lines;
}

static void ten_come_at_once_then_one_a_minute(void **state) {
  struct rejections r = {0};
  uint64_t omitted = 0, now = 5;
  assert_int_equal(lines_of(&r, REJECTION_EXPIRED, 1000, now, &omitted), 10);
  assert_int_equal(omitted, 0);
  assert_int_equal(lines_of(&r, REJECTION_EXPIRED, 1000, now + MINUTE - 1, &omitted), 0);
  assert_int_equal(lines_of(&r, REJECTION_EXPIRED, 1000, now + MINUTE, &omitted), 1);
  assert_int_equal(omitted, 1990);
  assert_int_equal(lines_of(&r, REJECTION_EXPIRED, 1, now + 2 * MINUTE, &omitted), 1);
  assert_int_equal(omitted, 999);
}

static void after_a_while_of_peace_there_are_ten_again(void **state) {
  struct rejections r = {0};
  uint64_t omitted = 0;
  assert_int_equal(lines_of(&r, REJECTION_SIGNATURE, 50, 1, &omitted), 10);
  assert_int_equal(lines_of(&r, REJECTION_SIGNATURE, 50, 1 + 60 * MINUTE, &omitted), 10);
}

static void reasons_do_not_take_lines_from_each_other(void **state) {
  struct rejections r = {0};
  uint64_t omitted = 0;
  for (int why = 0; why < REJECTION_COUNT; why++)
    assert_int_equal(lines_of(&r, (enum rejection)why, 100, 1, &omitted), 10);
}

static void a_day_of_attacks_is_few_lines(void **state) {
  struct rejections r = {0};
  uint64_t omitted = 0;
  unsigned lines = 0;
  for (uint64_t now = 0; now < 24 * 60 * MINUTE; now += 100) lines += rejections_may_log(&r, 0, now, &omitted);
  assert_true(lines <= 24 * 60 + 10);
}

static void all_are_counted_and_each_reason_has_its_line(void **state) {
  struct hash_key seed = {0};
  struct metrics *m = metrics_new(&seed);
  struct buf page;
  buf_init(&page, 1 << 20);
  for (int i = 0; i < 3; i++) metrics_count_rejection(m, REJECTION_EXPIRED);
  metrics_write(m, &page);
  buf_char(&page, 0);
  assert_non_null(strstr(page.p, "\ntoolgate_auth_failures_total{reason=\"expired\"} 3\n"));
  for (int why = 0; why < REJECTION_COUNT; why++) assert_non_null(strstr(page.p, rejection_word((enum rejection)why)));
  buf_done(&page);
  metrics_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ten_come_at_once_then_one_a_minute),
      cmocka_unit_test(after_a_while_of_peace_there_are_ten_again),
      cmocka_unit_test(reasons_do_not_take_lines_from_each_other),
      cmocka_unit_test(a_day_of_attacks_is_few_lines),
      cmocka_unit_test(all_are_counted_and_each_reason_has_its_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
