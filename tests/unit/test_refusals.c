// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "call/refusals.h"

enum { WHOLE = 10, MINUTE = REFUSALS_WINDOW_MS };

struct world {
  struct refusals refusals;
  unsigned lines;
  uint64_t omitted;
  int64_t from, until;
  char who[64];
};

static void on_summary(void *ctx, const struct audit_event *e) {
  struct world *x = ctx;
  assert_true(str_eq(e->operation, STR("refusals")));
  x->lines++;
  x->omitted += e->omitted;
  x->from = e->omitted_from;
  x->until = e->omitted_until;
  snprintf(x->who, sizeof x->who, "%.*s %.*s", STR_ARG(e->code), STR_ARG(e->principal));
}

static void begin(struct world *x, unsigned whole) {
  static const struct hash_key seed = {0};
  *x = (struct world){0};
  refusals_init(&x->refusals, whole, &seed, on_summary, x);
}

// How many of these refusals have lines. The wall clock is 1000000 ahead.
static unsigned tell(struct world *x, const char *who, const char *code, unsigned count, uint64_t now) {
  struct audit_event e = {.decision = AUDIT_DENY, .principal = str_of(who), .code = str_of(code)};
  unsigned lines = 0;
  for (unsigned i = 0; i < count; i++) lines += refusals_log(&x->refusals, &e, now, (int64_t)now + 1000000);
  return lines;
}

static void the_first_have_lines_and_the_others_one_with_their_number_and_times(void **state) {
  struct world x;
  begin(&x, WHOLE);
  assert_int_equal(tell(&x, "ann", "DENIED", 100, 5), WHOLE);
  assert_int_equal(tell(&x, "ann", "DENIED", 100, 5000), 0);
  assert_int_equal(refusals_settle(&x.refusals, 5000), MINUTE - 4995);
  assert_int_equal(x.lines, 0);
  assert_int_equal(refusals_settle(&x.refusals, MINUTE + 5), 0);
  assert_int_equal(x.lines, 1);
  assert_int_equal(x.omitted, 200 - WHOLE);
  assert_int_equal(x.from, 1000005);
  assert_int_equal(x.until, 1005000);
  assert_string_equal(x.who, "DENIED ann");
  refusals_done(&x.refusals);
  assert_int_equal(x.lines, 1);
}

static void a_new_minute_writes_the_number_of_the_one_before(void **state) {
  struct world x;
  begin(&x, WHOLE);
  tell(&x, "ann", "DENIED", 100, 5);
  assert_int_equal(tell(&x, "ann", "DENIED", 100, 5 + MINUTE), WHOLE);
  assert_int_equal(x.omitted, 100 - WHOLE);
  refusals_done(&x.refusals);
  assert_int_equal(x.omitted, 200 - 2 * WHOLE);
}

static void principals_and_reasons_do_not_take_lines_from_each_other(void **state) {
  struct world x;
  begin(&x, WHOLE);
  assert_int_equal(tell(&x, "ann", "DENIED", 100, 5), WHOLE);
  assert_int_equal(tell(&x, "bob", "DENIED", 100, 5), WHOLE);
  assert_int_equal(tell(&x, "ann", "RATE_LIMITED", 100, 5), WHOLE);
  refusals_done(&x.refusals);
  assert_int_equal(x.lines, 3);
  assert_int_equal(x.omitted, 300 - 3 * WHOLE);
}

static void few_refusals_have_no_summary(void **state) {
  struct world x;
  begin(&x, WHOLE);
  assert_int_equal(tell(&x, "ann", "DENIED", WHOLE, 5), WHOLE);
  assert_int_equal(refusals_settle(&x.refusals, 5 + MINUTE), 0);
  refusals_done(&x.refusals);
  assert_int_equal(x.lines, 0);
}

static void none_is_uncounted_however_many_principals_there_are(void **state) {
  struct world x;
  char who[16];
  unsigned lines = 0;
  begin(&x, WHOLE);
  for (unsigned i = 0; i < 3 * REFUSALS_MOST; i++) {
    snprintf(who, sizeof who, "p%u", i);
    lines += tell(&x, who, "DENIED", WHOLE + 1, 5);
  }
  assert_int_equal(map_count(&x.refusals.pairs), REFUSALS_MOST);
  refusals_done(&x.refusals);
  assert_int_equal(lines, 3 * REFUSALS_MOST * WHOLE);
  assert_int_equal(x.omitted, 3 * REFUSALS_MOST);
}

static void zero_gives_each_a_line(void **state) {
  struct world x;
  begin(&x, 0);
  assert_int_equal(tell(&x, "ann", "DENIED", 1000, 5), 1000);
  refusals_done(&x.refusals);
  assert_int_equal(x.lines, 0);
}

static void a_day_of_refusals_is_few_lines(void **state) {
  struct world x;
  unsigned lines = 0;
  begin(&x, WHOLE);
  for (uint64_t now = 0; now < 24 * 60 * MINUTE; now += 1000) lines += tell(&x, "ann", "DENIED", 1, now);
  refusals_done(&x.refusals);
  assert_true(lines + x.lines <= 24 * 60 * (WHOLE + 1));
  assert_int_equal(lines + x.omitted, 24 * 60 * 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_have_lines_and_the_others_one_with_their_number_and_times),
      cmocka_unit_test(a_new_minute_writes_the_number_of_the_one_before),
      cmocka_unit_test(principals_and_reasons_do_not_take_lines_from_each_other),
      cmocka_unit_test(few_refusals_have_no_summary),
      cmocka_unit_test(none_is_uncounted_however_many_principals_there_are),
      cmocka_unit_test(zero_gives_each_a_line),
      cmocka_unit_test(a_day_of_refusals_is_few_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
