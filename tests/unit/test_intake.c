// SPDX-License-Identifier: Apache-2.0
// io/intake: the memory of messages of clients is counted in all and by principal, and bounded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/http/intake.h"

enum { MIB = 1 << 20, LARGE = 4 * MIB, SMALL = 4096 };

struct world {
  struct loop loop;
  struct intake in;
};

static void setup(struct world *x, size_t limit, size_t principal_limit) {
  loop_init(&x->loop, NULL, &clock_system, &rand_system);
  intake_init(&x->in, &x->loop, limit, principal_limit);
}

static void teardown(struct world *x) {
  intake_done(&x->in);
  loop_done(&x->loop);
}

// One message: counted, and taken back when there is no room for it.
static enum intake_room take(struct world *x, struct intake_account *a, size_t *held, size_t bytes) {
  intake_set(&x->in, a, held, bytes);
  enum intake_room room = intake_check(&x->in, a, bytes);
  if (room != INTAKE_ROOM) intake_set(&x->in, a, held, 0);
  return room;
}

static size_t fill(struct world *x, struct intake_account *a, size_t *held, size_t max, size_t bytes) {
  size_t n = 0;
  while (n < max && take(x, a, &held[n], bytes) == INTAKE_ROOM) n++;
  return n;
}

static void empty(struct world *x, struct intake_account *a, size_t *held, size_t n) {
  for (size_t i = 0; i < n; i++) intake_set(&x->in, a, &held[i], 0);
}

static void a_principal_holds_no_more_than_its_limit(void **state) {
  struct world x;
  setup(&x, 1024 * MIB, 64 * MIB);
  struct intake_account *ann = intake_join(&x.in, STR("ann")), *bob = intake_join(&x.in, STR("bob"));
  size_t held[64] = {0}, other = 0;
  size_t n = fill(&x, ann, held, 64, LARGE);
  assert_int_equal(n, 12);  // three quarters of the limit: the rest is for small messages
  assert_int_equal(take(&x, ann, &held[n], LARGE), INTAKE_PRINCIPAL_FULL);
  assert_int_equal(x.in.used, 12 * LARGE);
  assert_int_equal(take(&x, bob, &other, LARGE), INTAKE_ROOM);
  intake_set(&x.in, bob, &other, 0);
  empty(&x, ann, held, n);
  assert_int_equal(take(&x, ann, &held[0], LARGE), INTAKE_ROOM);
  empty(&x, ann, held, 1);
  assert_int_equal(x.in.refused, 2);
  intake_leave(&x.in, &ann);
  intake_leave(&x.in, &bob);
  teardown(&x);
}

static void small_messages_have_room_when_large_ones_have_none(void **state) {
  struct world x;
  setup(&x, 64 * MIB, 64 * MIB);
  struct intake_account *ann = intake_join(&x.in, STR("ann"));
  size_t held[64] = {0}, small[64] = {0};
  size_t n = fill(&x, ann, held, 64, LARGE);
  assert_int_equal(n, 6);  // one alone gets half of what large messages may use
  assert_int_equal(fill(&x, ann, small, 64, SMALL), 64);
  empty(&x, ann, small, 64);
  empty(&x, ann, held, n);
  intake_leave(&x.in, &ann);
  teardown(&x);
}

static void a_principal_that_comes_later_finds_room(void **state) {
  struct world x;
  setup(&x, 64 * MIB, 1024 * MIB);
  struct intake_account *of[3] = {intake_join(&x.in, STR("ann")), intake_join(&x.in, STR("bob")),
                                  intake_join(&x.in, STR("cid"))};
  size_t held[3][64] = {0}, n[3];
  for (int i = 0; i < 3; i++) {
    n[i] = fill(&x, of[i], held[i], 64, MIB);
    assert_true(n[i] >= 6);
  }
  assert_int_equal(take(&x, of[0], &held[0][n[0]], MIB), INTAKE_PRINCIPAL_FULL);
  for (int i = 0; i < 3; i++) empty(&x, of[i], held[i], n[i]);
  for (int i = 0; i < 3; i++) intake_leave(&x.in, &of[i]);
  teardown(&x);
}

static void all_together_hold_no_more_than_the_limit(void **state) {
  enum { MANY = 100 };
  struct world x;
  setup(&x, 16 * MIB, 1024 * MIB);
  struct intake_account *of[MANY];
  size_t held[MANY] = {0}, full = 0;
  for (size_t i = 0; i < MANY; i++) {
    of[i] = intake_join(&x.in, (str){(const char *)&i, sizeof i});
    full += take(&x, of[i], &held[i], MIB) == INTAKE_FULL;
    assert_true(x.in.used <= 16 * MIB);
  }
  assert_int_equal(full, MANY - 12);
  for (size_t i = 0; i < MANY; i++) intake_set(&x.in, of[i], &held[i], 0);
  for (size_t i = 0; i < MANY; i++) intake_leave(&x.in, &of[i]);
  teardown(&x);
}

static void a_message_alone_has_room_whatever_its_size(void **state) {
  struct world x;
  setup(&x, MIB, MIB);
  struct intake_account *ann = intake_join(&x.in, STR("ann")), *again = intake_join(&x.in, STR("ann"));
  size_t held = 0, second = 0;
  assert_ptr_equal(ann, again);
  assert_int_equal(take(&x, ann, &held, 64 * MIB), INTAKE_ROOM);
  assert_int_equal(take(&x, ann, &second, LARGE), INTAKE_FULL);
  assert_string_equal(intake_limit_name(INTAKE_FULL), "limits.held_bytes");
  intake_set(&x.in, ann, &held, 0);
  intake_leave(&x.in, &ann);
  intake_leave(&x.in, &again);
  teardown(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_principal_holds_no_more_than_its_limit),
      cmocka_unit_test(small_messages_have_room_when_large_ones_have_none),
      cmocka_unit_test(a_principal_that_comes_later_finds_room),
      cmocka_unit_test(all_together_hold_no_more_than_the_limit),
      cmocka_unit_test(a_message_alone_has_room_whatever_its_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
