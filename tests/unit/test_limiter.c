// SPDX-License-Identifier: Apache-2.0
// call/limiter: how often something may be called.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "call/controls/limiter.h"

enum { SECOND = 1000, IDLE = 1800 * SECOND };

static struct limiter *limiter_of(const struct limiter_rule *rules, size_t count, size_t books) {
  return limiter_new(&(struct limiter_options){rules, count, books, IDLE, {1, 2}});
}

static bool take(struct limiter *l, const char *book, const char *meta, const char *tool, uint64_t now) {
  struct limiter_breach b;
  return limiter_take(l, &(struct limiter_use){.book = str_of(book), .meta = str_of(meta), .tool = str_of(tool)}, now,
                      true, &b);
}

static struct limiter_breach refused(struct limiter *l, const char *meta, const char *tool, uint64_t now) {
  struct limiter_breach b;
  assert_false(limiter_take(l, &(struct limiter_use){.book = STR("s"), .meta = str_of(meta), .tool = str_of(tool)}, now,
                            true, &b));
  return b;
}

static void calls_leave_the_window_sixty_seconds_after_they_were_made(void **state) {
  struct limiter_rule rule = {STR("tool_execute"), false, 2, 0};
  struct limiter *l = limiter_of(&rule, 1, 10);
  assert_true(take(l, "s", "tool_execute", "t", 0));
  assert_true(take(l, "s", "tool_execute", "t", 10 * SECOND));
  struct limiter_breach b = refused(l, "tool_execute", "t", 20 * SECOND);
  assert_string_equal(b.scope, "tool_execute/minute");
  assert_true(b.passes);
  assert_int_equal(b.after_ms, 40 * SECOND);
  refused(l, "tool_execute", "t", 60 * SECOND - 1);
  assert_true(take(l, "s", "tool_execute", "t", 60 * SECOND));
  assert_int_equal(refused(l, "tool_execute", "t", 61 * SECOND).after_ms, 9 * SECOND);
  assert_true(take(l, "s", "tool_execute", "t", 70 * SECOND));
  limiter_free(&l);
}

static void what_was_refused_is_not_counted(void **state) {
  struct limiter_rule rule = {STR("tool_execute"), false, 1, 3};
  struct limiter *l = limiter_of(&rule, 1, 10);
  assert_true(take(l, "s", "tool_execute", "t", 0));
  for (int i = 1; i < 60; i++) refused(l, "tool_execute", "t", (uint64_t)i * SECOND);
  assert_true(take(l, "s", "tool_execute", "t", 60 * SECOND));
  assert_true(take(l, "s", "tool_execute", "t", 120 * SECOND));
  limiter_free(&l);
}

static void the_total_of_a_session_does_not_come_back(void **state) {
  struct limiter_rule rule = {STR("tool_view"), false, 0, 1};
  struct limiter *l = limiter_of(&rule, 1, 10);
  assert_true(take(l, "s", "tool_view", NULL, 0));
  struct limiter_breach b = refused(l, "tool_view", NULL, 1000 * SECOND);
  assert_string_equal(b.scope, "tool_view/session");
  assert_false(b.passes);
  assert_true(take(l, "another", "tool_view", NULL, 0));
  limiter_free(&l);
}

// The total is told first: to wait would not help.
static void where_both_stand_against_it_the_session_is_named(void **state) {
  struct limiter_rule rule = {STR("tool_view"), false, 1, 1};
  struct limiter *l = limiter_of(&rule, 1, 10);
  assert_true(take(l, "s", "tool_view", NULL, 0));
  assert_string_equal(refused(l, "tool_view", NULL, 1).scope, "tool_view/session");
  limiter_free(&l);
}

static void a_use_counts_in_all_its_buckets_or_in_none(void **state) {
  struct limiter_rule rules[] = {{STR("tool_execute"), false, 0, 3}, {STR("a:x"), true, 1, 0}};
  struct limiter *l = limiter_of(rules, 2, 10);
  assert_true(take(l, "s", "tool_execute", "a:x", 0));
  for (int i = 0; i < 5; i++) assert_string_equal(refused(l, "tool_execute", "a:x", 1).scope, "tool:a:x/minute");
  assert_true(take(l, "s", "tool_execute", "a:y", 1));
  assert_true(take(l, "s", "tool_execute", "a:y", 1));
  assert_string_equal(refused(l, "tool_execute", "a:y", 1).scope, "tool_execute/session");
  limiter_free(&l);
}

static void tools_have_buckets_of_their_own_and_a_pattern_is_one_for_all_it_matches(void **state) {
  struct limiter_rule rules[] = {{STR("a:x"), true, 1, 0}, {STR("a:y"), true, 1, 0}, {STR("b:*"), true, 2, 0}};
  struct limiter *l = limiter_of(rules, 3, 10);
  assert_true(take(l, "s", "tool_execute", "a:x", 0));
  assert_true(take(l, "s", "tool_execute", "a:y", 0));
  refused(l, "tool_execute", "a:x", 0);
  assert_true(take(l, "s", "tool_execute", "b:1", 0));
  assert_true(take(l, "s", "tool_execute", "b:2", 0));
  assert_string_equal(refused(l, "tool_execute", "b:3", 0).scope, "tool:b:*/minute");
  assert_true(take(l, "s", "tool_execute", "c:1", 0));
  limiter_free(&l);
}

static void to_ask_is_not_to_use(void **state) {
  struct limiter_rule rule = {STR("tool_execute"), false, 1, 0};
  struct limiter *l = limiter_of(&rule, 1, 10);
  struct limiter_breach b;
  struct limiter_use use = {.book = STR("s"), .meta = STR("tool_execute"), .tool = STR("t")};
  for (int i = 0; i < 5; i++) assert_true(limiter_take(l, &use, 0, false, &b));
  assert_int_equal(limiter_books(l), 0);
  assert_true(limiter_take(l, &use, 0, true, &b));
  assert_false(limiter_take(l, &use, 0, false, &b));
  limiter_free(&l);
}

static void what_no_rule_is_for_is_not_remembered(void **state) {
  struct limiter_rule rule = {STR("tool_execute"), false, 1, 0};
  struct limiter *l = limiter_of(&rule, 1, 10);
  for (int i = 0; i < 100; i++) assert_true(take(l, "s", "tool_browse", NULL, 0));
  assert_int_equal(limiter_books(l), 0);
  limiter_free(&l);
}

static void a_high_limit_is_kept_within_a_quarter_of_a_second(void **state) {
  enum { LIMIT = 6000 };
  struct limiter_rule rule = {STR("tool_execute"), false, LIMIT, 0};
  struct limiter *l = limiter_of(&rule, 1, 10);
  uint64_t now = 5;
  for (int i = 0; i < LIMIT; i++, now += 10) assert_true(take(l, "s", "tool_execute", "t", now));
  uint64_t after = refused(l, "tool_execute", "t", now).after_ms;
  assert_true(after <= 250);
  // Never more than the limit in any 60 seconds.
  size_t allowed = 0;
  for (int i = 0; i < 1000; i++, now += 10) allowed += take(l, "s", "tool_execute", "t", now);
  assert_true(allowed <= 1000 && allowed >= 950);
  limiter_free(&l);
}

static void who_was_not_heard_of_for_long_begins_anew(void **state) {
  struct limiter_rule rule = {STR("tool_execute"), false, 0, 1};
  struct limiter *l = limiter_of(&rule, 1, 10);
  assert_true(take(l, "s", "tool_execute", "t", 0));
  refused(l, "tool_execute", "t", IDLE - 1);
  assert_true(take(l, "s", "tool_execute", "t", IDLE));
  limiter_free(&l);
}

static void a_session_is_remembered_until_it_ends_however_idle_it_is(void **state) {
  struct limiter_rule rule = {STR("tool_execute"), false, 0, 1};
  struct limiter *l = limiter_of(&rule, 1, 2);
  struct limiter_use use = {.book = STR("s"), .session = true, .meta = STR("tool_execute")};
  struct limiter_breach b;
  assert_true(limiter_take(l, &use, 0, true, &b));
  assert_true(take(l, "principal", "tool_execute", "t", 1));
  assert_true(take(l, "another", "tool_execute", "t", 2));  // takes the place of a book that is no session's
  assert_false(limiter_take(l, &use, 10 * (uint64_t)IDLE, true, &b));
  limiter_forget(l, STR("s"));
  assert_true(limiter_take(l, &use, 10 * (uint64_t)IDLE, true, &b));
  limiter_free(&l);
}

static void a_session_that_is_over_leaves_nothing(void **state) {
  struct limiter_rule rule = {STR("tool_execute"), false, 1, 1};
  struct limiter *l = limiter_of(&rule, 1, 10);
  assert_true(take(l, "s", "tool_execute", "t", 0));
  limiter_forget(l, STR("s"));
  limiter_forget(l, STR("never there"));
  assert_int_equal(limiter_books(l), 0);
  assert_true(take(l, "s", "tool_execute", "t", 0));
  limiter_free(&l);
}

static void of_any_number_of_sessions_so_many_are_remembered(void **state) {
  enum { BOOKS = 16 };
  struct limiter_rule rule = {STR("tool_execute"), false, 1, 0};
  struct limiter *l = limiter_of(&rule, 1, BOOKS);
  for (int i = 0; i < 100000; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    assert_true(take(l, name, "tool_execute", "t", 0));
    assert_true(limiter_books(l) <= BOOKS);
  }
  assert_false(take(l, "99999", "tool_execute", "t", 0));
  limiter_free(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_leave_the_window_sixty_seconds_after_they_were_made),
      cmocka_unit_test(what_was_refused_is_not_counted),
      cmocka_unit_test(the_total_of_a_session_does_not_come_back),
      cmocka_unit_test(where_both_stand_against_it_the_session_is_named),
      cmocka_unit_test(a_use_counts_in_all_its_buckets_or_in_none),
      cmocka_unit_test(tools_have_buckets_of_their_own_and_a_pattern_is_one_for_all_it_matches),
      cmocka_unit_test(to_ask_is_not_to_use),
      cmocka_unit_test(what_no_rule_is_for_is_not_remembered),
      cmocka_unit_test(a_high_limit_is_kept_within_a_quarter_of_a_second),
      cmocka_unit_test(who_was_not_heard_of_for_long_begins_anew),
      cmocka_unit_test(a_session_is_remembered_until_it_ends_however_idle_it_is),
      cmocka_unit_test(a_session_that_is_over_leaves_nothing),
      cmocka_unit_test(of_any_number_of_sessions_so_many_are_remembered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
