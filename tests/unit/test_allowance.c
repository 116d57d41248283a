// SPDX-License-Identifier: Apache-2.0
// call/allowance: what one principal may use, over all its sessions.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "call/controls/allowance.h"

static const struct hash_key seed = {1, 2};
static const uint64_t start = 5000300;  // not at the beginning of a second

static struct allowances *make(struct allowance_limits limits, size_t max) {
  return allowances_new(&limits, max, &seed);
}

static struct allowance *enter(struct allowances *a, const char *who, uint64_t now) {
  struct allowance_breach breach;
  return allowances_enter(a, str_of(who), now, &breach);
}

// Enters and leaves.
static bool use(struct allowances *a, const char *who, uint64_t bytes, uint64_t tokens, uint64_t now) {
  struct allowance *of = enter(a, who, now);
  if (of) allowances_leave(a, of, bytes, tokens, now);
  return of != NULL;
}

static void so_many_at_once(void **state) {
  struct allowances *a = make((struct allowance_limits){.in_flight = 2}, 10);
  struct allowance_breach breach;
  struct allowance *first = enter(a, "ann", start), *second = enter(a, "ann", start);
  assert_null(allowances_enter(a, STR("ann"), start, &breach));
  assert_string_equal(breach.scope, "principal/in_flight");
  assert_int_equal(breach.limit, 2);
  assert_int_equal(breach.after_ms, 0);
  struct allowance *other = enter(a, "bob", start);  // another principal has its own
  assert_non_null(other);
  allowances_leave(a, first, 0, 0, start);
  first = enter(a, "ann", start);
  assert_non_null(first);
  allowances_leave(a, first, 0, 0, start);
  allowances_leave(a, second, 0, 0, start);
  allowances_leave(a, other, 0, 0, start);
  allowances_free(&a);
}

static void so_many_requests_in_a_minute(void **state) {
  struct allowances *a = make((struct allowance_limits){.requests = 3}, 10);
  struct allowance_breach breach;
  assert_true(use(a, "ann", 0, 0, start));
  assert_true(use(a, "ann", 0, 0, start + 10000));
  assert_true(use(a, "ann", 0, 0, start + 10000));
  for (int i = 0; i < 5; i++) assert_false(use(a, "ann", 0, 0, start + 20000));  // those that fail count for nothing
  assert_null(allowances_enter(a, STR("ann"), start + 20000, &breach));
  assert_string_equal(breach.scope, "principal/requests");
  uint64_t again = start + 20000 + breach.after_ms;
  assert_false(use(a, "ann", 0, 0, again - 1));
  assert_true(use(a, "ann", 0, 0, again));
  assert_false(use(a, "ann", 0, 0, again));
  assert_true(use(a, "bob", 0, 0, again));
  allowances_free(&a);
}

static void bytes_and_tokens_stand_against_the_next(void **state) {
  static const struct allowance_limits limits[] = {{.bytes = 1000}, {.tokens = 1000}};
  for (int i = 0; i < 2; i++) {
    struct allowances *a = make(limits[i], 10);
    assert_true(use(a, "ann", 999, 999, start));
    assert_true(use(a, "ann", 50000, 50000, start + 1000));  // what it costs is known afterwards
    struct allowance_breach breach;
    assert_null(allowances_enter(a, STR("ann"), start + 2000, &breach));
    assert_string_equal(breach.scope, i ? "principal/tokens" : "principal/bytes");
    assert_false(use(a, "ann", 0, 0, start + 60000));
    assert_true(use(a, "ann", 0, 0, start + 61000));
    allowances_free(&a);
  }
}

static void tokens_are_counted_once_half_of_the_limit_may_be_used(void **state) {
  struct allowances *a = make((struct allowance_limits){.tokens = 1000}, 10);
  struct allowance_breach breach;
  struct allowance *of = allowances_enter(a, STR("ann"), start, &breach);
  assert_false(allowances_count_tokens(a, of, 500));
  assert_true(allowances_count_tokens(a, of, 501));
  allowances_leave(a, of, 0, 400, start);
  of = allowances_enter(a, STR("ann"), start, &breach);
  assert_true(allowances_count_tokens(a, of, 101));
  allowances_leave(a, of, 0, 0, start);
  allowances_free(&a);
}

static void long_pauses_empty_it(void **state) {
  struct allowances *a = make((struct allowance_limits){.requests = 1}, 10);
  for (uint64_t i = 0; i < 10; i++) {
    uint64_t now = start + i * UINT64_C(100000000);
    assert_true(use(a, "ann", 1, 1, now));
    assert_false(use(a, "ann", 1, 1, now + 59000));
  }
  allowances_free(&a);
}

static void who_has_something_under_way_is_not_forgotten(void **state) {
  struct allowances *a = make((struct allowance_limits){.in_flight = 1}, 2);
  struct allowance *held = enter(a, "ann", start);
  for (int i = 0; i < 20; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    assert_true(use(a, name, 0, 0, start + 100000));
  }
  assert_false(use(a, "ann", 0, 0, start + 200000));
  allowances_leave(a, held, 0, 0, start + 200000);
  assert_true(use(a, "ann", 0, 0, start + 200000));
  allowances_free(&a);
}

// Against counting by hand over a list of all that was used.
static void a_minute_is_the_last_sixty_seconds(void **state) {
  enum { N = 3000, LIMIT = 40 };
  static uint64_t used[N];
  struct allowances *a = make((struct allowance_limits){.requests = LIMIT}, 10);
  uint64_t now = start, random = 88172645463325252;
  size_t n = 0;
  for (int i = 0; i < N; i++) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    now += random % 3000;
    size_t recent = 0;
    for (size_t k = 0; k < n; k++) recent += used[k] / 1000 + 60 > now / 1000;
    bool allowed = use(a, "ann", 0, 0, now);
    if (allowed != (recent < LIMIT)) fail_msg("request %d: %zu in the last minute", i, recent);
    if (allowed) used[n++] = now;
  }
  allowances_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(so_many_at_once),
      cmocka_unit_test(so_many_requests_in_a_minute),
      cmocka_unit_test(bytes_and_tokens_stand_against_the_next),
      cmocka_unit_test(tokens_are_counted_once_half_of_the_limit_may_be_used),
      cmocka_unit_test(long_pauses_empty_it),
      cmocka_unit_test(who_has_something_under_way_is_not_forgotten),
      cmocka_unit_test(a_minute_is_the_last_sixty_seconds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
