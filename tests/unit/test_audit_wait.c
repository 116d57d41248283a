// SPDX-License-Identifier: Apache-2.0
// A request waits while another process holds the lock of a required audit log. The loop does not.
#include "gateway_world.h"

#include <sys/file.h>

// Waits until all lines are written: while a thread writes, the log counts as in order.
static void settles(struct world *w) {
  for (int i = 0; i < 3; i++) {
    pass(w, 5);
    while (w->gateway.loop.uv.active_reqs.count) turn(w);
  }
}

static struct agent *given_a_required_log(struct world *w) {
  given(w, "audit: {file: audit.jsonl, on_failure: deny}\n");
  struct server *shop = serves(w, "shop", NULL);
  has_tool(shop, "{'name':'buy','inputSchema':{'type':'object'}}");
  for (int i = 0; i < 4; i++) answers(shop, "bought");
  struct agent *a = arrives(w, MODE_DIRECT);
  calls(a, "shop:buy", "{}");
  settles(w);
  return a;
}

// Locks the log as another process does: the lock belongs to this description of the file.
static int locks_the_log(struct world *w) {
  int fd = open("audit.jsonl", O_RDWR | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  return fd;
}

static void a_request_waits_until_the_log_is_unlocked(void **state) {
  struct world *w = *state;
  struct agent *a = given_a_required_log(w);
  int lock = locks_the_log(w);
  uint64_t first = begins(a, "shop:buy", "{}"), second = begins(a, "shop:buy", "{}");
  assert_false(is_answered(a, first) || is_answered(a, second));
  close(lock);
  expect_the_text(w, hears(a, first), "bought");
  expect_the_text(w, hears(a, second), "bought");
}

static void a_request_is_refused_if_the_lock_is_kept(void **state) {
  struct world *w = *state;
  struct agent *a = given_a_required_log(w);
  int lock = locks_the_log(w);
  uint64_t id = begins(a, "shop:buy", "{}");
  assert_false(is_answered(a, id));
  for (int i = 0; i < 500 && !is_answered(a, id); i++) pass(w, 10);
  expect_the_fault(w, hears(a, id), "AUDIT_UNAVAILABLE");
  close(lock);
}

static void a_request_that_waits_can_be_cancelled(void **state) {
  struct world *w = *state;
  struct agent *a = given_a_required_log(w);
  int lock = locks_the_log(w);
  uint64_t first = begins(a, "shop:buy", "{}"), second = begins(a, "shop:buy", "{}");
  cancels(a, first);
  close(lock);
  expect_the_text(w, hears(a, second), "bought");
  assert_false(is_answered(a, first));
}

static void a_client_may_leave_while_its_request_waits(void **state) {
  struct world *w = *state;
  struct agent *a = given_a_required_log(w);
  int lock = locks_the_log(w);
  begins(a, "shop:buy", "{}");
  leaves(a);
  close(lock);
}

static void a_log_that_was_moved_is_made_again_before_the_call(void **state) {
  struct world *w = *state;
  struct agent *a = given_a_required_log(w);
  struct stat st;
  assert_int_equal(rename("audit.jsonl", "audit.jsonl.old"), 0);
  pass(w, 5);
  expect_the_text(w, calls(a, "shop:buy", "{}"), "bought");
  assert_int_equal(stat("audit.jsonl", &st), 0);
}

static void a_log_that_cannot_be_made_again_refuses_the_call(void **state) {
  struct world *w = *state;
  struct agent *a = given_a_required_log(w);
  assert_int_equal(rename("audit.jsonl", "audit.jsonl.old") | mkdir("audit.jsonl", 0700), 0);
  pass(w, 5);
  expect_the_fault(w, calls(a, "shop:buy", "{}"), "AUDIT_UNAVAILABLE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_request_waits_until_the_log_is_unlocked, begin_world, end_world),
      cmocka_unit_test_setup_teardown(a_request_is_refused_if_the_lock_is_kept, begin_world, end_world),
      cmocka_unit_test_setup_teardown(a_request_that_waits_can_be_cancelled, begin_world, end_world),
      cmocka_unit_test_setup_teardown(a_client_may_leave_while_its_request_waits, begin_world, end_world),
      cmocka_unit_test_setup_teardown(a_log_that_was_moved_is_made_again_before_the_call, begin_world, end_world),
      cmocka_unit_test_setup_teardown(a_log_that_cannot_be_made_again_refuses_the_call, begin_world, end_world),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
