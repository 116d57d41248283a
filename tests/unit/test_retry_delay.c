// SPDX-License-Identifier: Apache-2.0
// call/controls/retry_delay: when a call that failed is tried again.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "call/controls/retry_delay.h"

static void fill_zero(void *ctx, void *out, size_t n) {
  memset(out, 0, n);
}
static void fill_ones(void *ctx, void *out, size_t n) {
  memset(out, 0xff, n);
}
static void fill_half(void *ctx, void *out, size_t n) {
  memset(out, 0, n);
  ((unsigned char *)out)[n - 1] = 0x80;
}
static const struct rand_source zero = {fill_zero, NULL}, ones = {fill_ones, NULL}, half = {fill_half, NULL};

static struct retry_rule usual(void) {
  return (struct retry_rule){
      .max_attempts = 3,
      .base_ms = 500,
      .max_ms = 5000,
      .codes = retry_bit(FAULT_UPSTREAM_TIMEOUT) | retry_bit(FAULT_UPSTREAM_UNAVAILABLE),
      .unsafe = true,
  };
}

static struct fault fault_of(enum fault_code code) {
  struct fault f;
  fault_set(&f, code, "x");
  return f;
}

// -1: no further attempt.
static long long next(const struct retry_rule *b, struct retry_case c, enum fault_code code,
                      const struct rand_source *rand) {
  struct fault f = fault_of(code);
  uint64_t ms = 0;
  c.fault = &f;
  if (!c.attempts) c.attempts = 1;
  if (!c.left_ms) c.left_ms = 600000;
  return retry_delay(b, &c, rand, &ms) ? (long long)ms : -1;
}

static void delays_double_up_to_the_maximum(void **state) {
  struct retry_rule b = usual();
  b.max_attempts = 100;
  static const long long want[] = {500, 1000, 2000, 4000, 5000, 5000};
  for (unsigned i = 0; i < sizeof want / sizeof *want; i++)
    assert_int_equal(next(&b, (struct retry_case){.attempts = i + 1}, FAULT_UPSTREAM_TIMEOUT, &zero), want[i]);
  assert_int_equal(next(&b, (struct retry_case){.attempts = 99}, FAULT_UPSTREAM_TIMEOUT, &zero), 5000);
}

static void so_many_attempts_and_no_more(void **state) {
  struct retry_rule b = usual();
  assert_int_equal(next(&b, (struct retry_case){.attempts = 2}, FAULT_UPSTREAM_UNAVAILABLE, &zero), 1000);
  assert_int_equal(next(&b, (struct retry_case){.attempts = 3}, FAULT_UPSTREAM_UNAVAILABLE, &zero), -1);
  b.max_attempts = 1;
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_UNAVAILABLE, &zero), -1);
}

static void only_listed_faults_that_are_retryable_are_tried_again(void **state) {
  struct retry_rule b = usual();
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_ERROR, &zero), -1);
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_PROTOCOL, &zero), -1);
  b.codes = retry_bit(FAULT_UPSTREAM_UNAVAILABLE) | retry_bit(FAULT_UPSTREAM_ERROR);
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_TIMEOUT, &zero), -1);
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_ERROR, &zero), -1);  // listed, not retryable
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_UNAVAILABLE, &zero), 500);
}

static void jitter_shortens_a_delay_by_at_most_its_part(void **state) {
  struct retry_rule b = usual();
  b.jitter_permille = 500;
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_TIMEOUT, &zero), 500);
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_TIMEOUT, &half), 375);
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_TIMEOUT, &ones), 250);
  b.jitter_permille = 1000;
  assert_int_equal(next(&b, (struct retry_case){0}, FAULT_UPSTREAM_TIMEOUT, &ones), 0);
}

static void what_may_have_been_done_is_repeated_only_where_that_is_harmless_or_the_operator_says_so(void **state) {
  struct retry_rule b = usual();
  struct retry_case lost = {.sent = true}, harmless = {.sent = true, .repeatable = true},
                    destructive = {.sent = true, .destructive = true}, unsent = {.destructive = true},
                    both = {.sent = true, .repeatable = true, .destructive = true};
  assert_int_equal(next(&b, lost, FAULT_UPSTREAM_TIMEOUT, &zero), 500);
  assert_int_equal(next(&b, harmless, FAULT_UPSTREAM_TIMEOUT, &zero), 500);
  assert_int_equal(next(&b, destructive, FAULT_UPSTREAM_TIMEOUT, &zero), -1);
  assert_int_equal(next(&b, both, FAULT_UPSTREAM_TIMEOUT, &zero), -1);
  assert_int_equal(next(&b, unsent, FAULT_UPSTREAM_UNAVAILABLE, &zero), 500);
  b.unsafe = false;
  assert_int_equal(next(&b, lost, FAULT_UPSTREAM_TIMEOUT, &zero), -1);
  assert_int_equal(next(&b, harmless, FAULT_UPSTREAM_TIMEOUT, &zero), 500);
  assert_int_equal(next(&b, unsent, FAULT_UPSTREAM_UNAVAILABLE, &zero), 500);
}

static void a_server_says_when_to_come_back(void **state) {
  struct retry_rule b = usual();
  assert_int_equal(next(&b, (struct retry_case){.after_ms = 7000}, FAULT_UPSTREAM_UNAVAILABLE, &zero), 7000);
  assert_int_equal(next(&b, (struct retry_case){.after_ms = 100}, FAULT_UPSTREAM_UNAVAILABLE, &zero), 500);
  struct retry_case late = {.after_ms = 7000, .left_ms = 6000};
  assert_int_equal(next(&b, late, FAULT_UPSTREAM_UNAVAILABLE, &zero), -1);
}

static void the_time_of_the_call_bounds_all_attempts(void **state) {
  struct retry_rule b = usual();
  assert_int_equal(next(&b, (struct retry_case){.left_ms = 501}, FAULT_UPSTREAM_TIMEOUT, &zero), 500);
  assert_int_equal(next(&b, (struct retry_case){.left_ms = 500}, FAULT_UPSTREAM_TIMEOUT, &zero), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(delays_double_up_to_the_maximum),
      cmocka_unit_test(so_many_attempts_and_no_more),
      cmocka_unit_test(only_listed_faults_that_are_retryable_are_tried_again),
      cmocka_unit_test(jitter_shortens_a_delay_by_at_most_its_part),
      cmocka_unit_test(what_may_have_been_done_is_repeated_only_where_that_is_harmless_or_the_operator_says_so),
      cmocka_unit_test(a_server_says_when_to_come_back),
      cmocka_unit_test(the_time_of_the_call_bounds_all_attempts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
