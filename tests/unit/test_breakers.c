// SPDX-License-Identifier: Apache-2.0
// Circuit breakers and egress budgets: when they refuse calls, and what of them outlives a restart.
#include "effect/breakers.h"

#include <math.h>

#include "effect/egress.h"
#include "store_world.h"

enum { DAY_MS = 24 * 3600 * 1000 };

static uint64_t mono;
static struct hash_key seed = {1, 2};

static uint64_t moving_mono(void *ctx) {
  return mono;
}

static int enter_moving(void **state) {
  if (enter(state)) return -1;
  struct world *x = *state;
  mono = 1000;
  x->clock.mono_ms = moving_mono;
  x->wall = INT64_C(1785196800000);  // a midnight
  open_store(x);
  return 0;
}

#define MOVING(name) cmocka_unit_test_setup_teardown(name, enter_moving, leave)

static void pass(struct world *x, uint64_t ms) {
  mono += ms;
  x->wall += (int64_t)ms;
  x->loop.now_known = false;
}

// ---- breakers

static struct breaker_limits limits;
static str key = STR("refund acme"), other = STR("refund globex");

static struct breakers *start(struct world *x) {
  limits = breaker_default_limits;
  return breakers_new(&seed, x->store, &x->clock);
}

static enum breaker_pass begin(struct breakers *b, str of, uint64_t *out_after) {
  uint64_t after = 0;
  enum breaker_pass pass = breakers_begin(b, of, &limits, false, &after);
  if (out_after) *out_after = after;
  return pass;
}

static enum breaker_change one(struct breakers *b, enum breaker_outcome outcome) {
  enum breaker_pass pass = begin(b, key, NULL);
  assert_int_not_equal(pass, BREAKER_OPEN);
  return breakers_end(b, key, &limits, pass == BREAKER_PROBE, outcome);
}

static void open_one(struct breakers *b) {
  for (int i = 0; i < 4; i++) assert_int_equal(one(b, BREAKER_FAILED), BREAKER_SAME);
  assert_int_equal(one(b, BREAKER_FAILED), BREAKER_OPENS);
}

static void five_failures_in_a_row_open_a_breaker_for_its_tenant_only(void **state) {
  struct world *x = *state;
  struct breakers *b = start(x);
  uint64_t after;
  open_one(b);
  assert_int_equal(begin(b, key, &after), BREAKER_OPEN);
  assert_int_equal(after, 30000);
  assert_int_equal(begin(b, other, NULL), BREAKER_CLOSED);
  pass(x, 29999);
  assert_int_equal(begin(b, key, &after), BREAKER_OPEN);
  assert_int_equal(after, 1);
  assert_int_equal(breakers_open(b), 1);
  breakers_free(&b);
}

static void a_success_between_failures_keeps_a_breaker_closed(void **state) {
  struct breakers *b = start(*state);
  for (int i = 0; i < 4; i++) one(b, BREAKER_FAILED);
  one(b, BREAKER_SUCCEEDED);
  for (int i = 0; i < 4; i++) assert_int_equal(one(b, BREAKER_FAILED), BREAKER_SAME);
  breakers_free(&b);
}

static void half_of_twenty_calls_within_the_window_open_a_breaker(void **state) {
  struct world *x = *state;
  struct breakers *b = start(x);
  for (int i = 0; i < 9; i++) {
    one(b, BREAKER_FAILED);
    one(b, BREAKER_SUCCEEDED);
  }
  assert_int_equal(one(b, BREAKER_SUCCEEDED), BREAKER_SAME);
  assert_int_equal(one(b, BREAKER_FAILED), BREAKER_OPENS);  // 10 of 20
  pass(x, 30000);
  assert_int_equal(one(b, BREAKER_SUCCEEDED), BREAKER_CLOSES);
  for (int i = 0; i < 30; i++) {  // failures of an earlier window do not count
    assert_int_equal(one(b, BREAKER_FAILED), BREAKER_SAME);
    one(b, BREAKER_SUCCEEDED);
    pass(x, 4000);
  }
  breakers_free(&b);
}

// The governance file can change the window while breakers are in use.
static void calls_before_the_window_was_made_longer_do_not_count_for_ever(void **state) {
  struct world *x = *state;
  struct breakers *b = start(x);
  pass(x, 3600 * 1000);
  for (int i = 0; i < 9; i++) {
    one(b, BREAKER_FAILED);
    one(b, BREAKER_SUCCEEDED);
  }
  limits.window_s = 300;
  pass(x, 3660 * 1000);
  one(b, BREAKER_SUCCEEDED);
  assert_int_equal(one(b, BREAKER_FAILED), BREAKER_SAME);
  breakers_free(&b);
}

static void a_call_that_says_nothing_about_the_server_counts_as_none(void **state) {
  struct breakers *b = start(*state);
  for (int i = 0; i < 100; i++) assert_int_equal(one(b, BREAKER_SKIPPED), BREAKER_SAME);
  assert_int_equal(begin(b, key, NULL), BREAKER_CLOSED);
  breakers_free(&b);
}

static void after_its_time_a_breaker_lets_three_probes_through(void **state) {
  struct world *x = *state;
  struct breakers *b = start(x);
  uint64_t after;
  open_one(b);
  pass(x, 30000);
  for (int i = 0; i < 3; i++) assert_int_equal(begin(b, key, NULL), BREAKER_PROBE);
  assert_int_equal(begin(b, key, NULL), BREAKER_OPEN);
  breakers_end(b, key, &limits, true, BREAKER_SKIPPED);  // a probe that was cancelled frees its place
  assert_int_equal(begin(b, key, NULL), BREAKER_PROBE);
  assert_int_equal(breakers_end(b, key, &limits, true, BREAKER_FAILED), BREAKER_OPENS);
  assert_int_equal(begin(b, key, &after), BREAKER_OPEN);
  assert_int_equal(after, 30000);
  pass(x, 30000);
  assert_int_equal(breakers_begin(b, key, &limits, true, &after), BREAKER_OPEN);  // two probes are still in flight
  breakers_end(b, key, &limits, true, BREAKER_SKIPPED);
  breakers_end(b, key, &limits, true, BREAKER_SKIPPED);
  assert_int_equal(breakers_begin(b, key, &limits, true, &after), BREAKER_PROBE);
  assert_int_equal(breakers_begin(b, key, &limits, true, &after), BREAKER_OPEN);
  assert_int_equal(breakers_end(b, key, &limits, true, BREAKER_SUCCEEDED), BREAKER_CLOSES);
  assert_int_equal(begin(b, key, NULL), BREAKER_CLOSED);
  assert_int_equal(breakers_open(b), 0);
  breakers_free(&b);
}

static void a_call_from_before_the_breaker_opened_changes_nothing(void **state) {
  struct breakers *b = start(*state);
  assert_int_equal(begin(b, key, NULL), BREAKER_CLOSED);
  open_one(b);
  assert_int_equal(breakers_end(b, key, &limits, false, BREAKER_SUCCEEDED), BREAKER_SAME);
  assert_int_equal(begin(b, key, NULL), BREAKER_OPEN);
  breakers_free(&b);
}

static void an_open_breaker_stays_open_after_a_restart(void **state) {
  struct world *x = *state;
  struct breakers *b = start(x);
  uint64_t after;
  open_one(b);
  breakers_free(&b);
  reopen(x);
  pass(x, 10000);
  b = start(x);
  assert_int_equal(begin(b, key, &after), BREAKER_OPEN);
  assert_int_equal(after, 20000);
  pass(x, 20000);
  one(b, BREAKER_SUCCEEDED);
  breakers_free(&b);
  reopen(x);
  b = start(x);
  assert_int_equal(begin(b, key, NULL), BREAKER_CLOSED);
  breakers_free(&b);
}

static void a_clock_that_was_set_back_does_not_keep_a_breaker_open_for_ever(void **state) {
  struct world *x = *state;
  struct breakers *b = start(x);
  uint64_t after;
  open_one(b);
  breakers_free(&b);
  reopen(x);
  x->wall -= INT64_C(10) * DAY_MS;
  b = start(x);
  assert_int_equal(begin(b, key, &after), BREAKER_OPEN);
  assert_true(after <= 3600 * 1000);
  breakers_free(&b);
}

// ---- egress budgets

static struct egress_limits two = {.set = true, .rate = 2, .burst = 2, .daily_cost = -1};

static const char *take(struct egress *e, str of, const struct egress_limits *l, uint64_t *out_after) {
  uint64_t after = 0;
  const char *limit = egress_take(e, &(struct egress_use){of, l, 1}, &after);
  if (out_after) *out_after = after;
  return limit;
}

// B01
static void the_third_call_of_a_bucket_of_two_waits_for_half_a_second(void **state) {
  struct world *x = *state;
  struct egress *e = egress_new(&x->loop, x->store);
  uint64_t after;
  assert_null(take(e, key, &two, NULL));
  assert_null(take(e, key, &two, NULL));
  assert_string_equal(take(e, key, &two, &after), "rate");
  assert_int_equal(after, 500);
  assert_null(take(e, other, &two, NULL));
  pass(x, 499);
  assert_string_equal(take(e, key, &two, &after), "rate");
  assert_int_equal(after, 1);
  pass(x, 1);
  assert_null(take(e, key, &two, NULL));
  egress_free(&e);
}

static void a_call_that_was_not_sent_is_given_back(void **state) {
  struct world *x = *state;
  struct egress *e = egress_new(&x->loop, x->store);
  for (int i = 0; i < 100; i++) {
    assert_null(take(e, key, &two, NULL));
    egress_refund(e, &(struct egress_use){key, &two, 1});
  }
  egress_free(&e);
}

static void limits_of_a_day_end_at_midnight_utc(void **state) {
  struct world *x = *state;
  struct egress_limits daily = {.set = true, .daily = 3, .daily_cost = -1}, cost = {.set = true, .daily_cost = 2.5};
  struct egress *e = egress_new(&x->loop, x->store);
  uint64_t after;
  pass(x, 1000);
  for (int i = 0; i < 3; i++) assert_null(take(e, key, &daily, NULL));
  assert_string_equal(take(e, key, &daily, &after), "daily_calls");
  assert_int_equal(after, DAY_MS - 1000);
  for (int i = 0; i < 2; i++) assert_null(take(e, other, &cost, NULL));
  assert_string_equal(take(e, other, &cost, &after), "daily_cost");
  assert_int_equal(after, DAY_MS - 1000);
  x->wall -= 5000;  // a clock that is set back begins no new day
  assert_string_equal(take(e, key, &daily, NULL), "daily_calls");
  x->wall += 5000;
  pass(x, DAY_MS - 1000);
  assert_null(take(e, key, &daily, NULL));
  assert_null(take(e, other, &cost, NULL));
  egress_free(&e);
}

static void a_server_that_asks_to_wait_gets_no_calls_until_then(void **state) {
  struct world *x = *state;
  struct egress *e = egress_new(&x->loop, x->store);
  uint64_t after;
  assert_null(take(e, key, &two, NULL));
  egress_drain(e, key, 7000);
  egress_drain(e, key, 3000);  // does not shorten the wait
  assert_string_equal(take(e, key, &two, &after), "upstream");
  assert_int_equal(after, 7000);
  pass(x, 7000);
  assert_null(take(e, key, &two, NULL));
  egress_free(&e);
}

static void a_budget_lasts_over_a_restart(void **state) {
  struct world *x = *state;
  struct egress_limits daily = {.set = true, .rate = 0.5, .burst = 2, .daily = 3, .daily_cost = -1};
  struct egress *e = egress_new(&x->loop, x->store);
  uint64_t after;
  assert_null(take(e, key, &daily, NULL));
  assert_null(take(e, key, &daily, NULL));
  egress_drain(e, other, 1000);  // an unknown budget stays unknown
  egress_free(&e);
  reopen(x);
  pass(x, 1000);
  e = egress_new(&x->loop, x->store);
  assert_string_equal(take(e, key, &daily, &after), "rate");
  assert_int_equal(after, 1000);
  pass(x, 4000);
  assert_null(take(e, key, &daily, NULL));
  assert_string_equal(take(e, key, &daily, NULL), "daily_calls");
  egress_free(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      MOVING(five_failures_in_a_row_open_a_breaker_for_its_tenant_only),
      MOVING(a_success_between_failures_keeps_a_breaker_closed),
      MOVING(half_of_twenty_calls_within_the_window_open_a_breaker),
      MOVING(calls_before_the_window_was_made_longer_do_not_count_for_ever),
      MOVING(a_call_that_says_nothing_about_the_server_counts_as_none),
      MOVING(after_its_time_a_breaker_lets_three_probes_through),
      MOVING(a_call_from_before_the_breaker_opened_changes_nothing),
      MOVING(an_open_breaker_stays_open_after_a_restart),
      MOVING(a_clock_that_was_set_back_does_not_keep_a_breaker_open_for_ever),
      MOVING(the_third_call_of_a_bucket_of_two_waits_for_half_a_second),
      MOVING(a_call_that_was_not_sent_is_given_back),
      MOVING(limits_of_a_day_end_at_midnight_utc),
      MOVING(a_server_that_asks_to_wait_gets_no_calls_until_then),
      MOVING(a_budget_lasts_over_a_restart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
