// SPDX-License-Identifier: Apache-2.0
// Turns on a lane: how many calls are under way, and who is next.
#include "lane_world.h"

#include "upstream/lane/turns.h"
#include "upstream/upstream_impl.h"

// A call in these tests is a letter and a number: which agent's it is, and which. With a capital before them, that is
// the principal that the agent is of.
struct caller {
  struct turn turn;
  struct lanes_world *o;
  char name[8];
  bool again;  // whoever is refused calls once more, at once
};

static void take(struct caller *c);

static void on_go(struct turn *t, const struct fault *f) {
  struct caller *c = CONTAINER_OF(t, struct caller, turn);
  if (f) write_line(&c->o->heard, "%s refused", c->name);
  else write_line(&c->o->heard, "%s", c->name);
  bool again = f && c->again;
  c->again = false;
  if (again) take(c);
}

static struct lane *the_lane(struct lanes_world *o) {
  struct session nobody = client("{}");
  return upstreams_lane_find(o->all, 0, &nobody);
}

static void take(struct caller *c) {
  struct fault f;
  turn_hold(&c->turn, the_lane(c->o));
  bool capital = c->name[0] >= 'A' && c->name[0] <= 'Z';
  struct turn_caller who = {{c->name, 1}, {c->name + capital, 1}};
  switch (turn_take(&c->turn, &who, &f)) {
  case TURN_RUNS: write_line(&c->o->heard, "%s", c->name); break;
  case TURN_WAITS: break;
  default:
    write_line(&c->o->heard, "%s refused: %s", c->name, f.message);
    assert_int_equal(f.after_ms, 1000);
    assert_true(f.undone);
  }
}

static struct caller *comes(struct lanes_world *o, const char *name) {
  struct caller *c = ARENA_ARRAY(&o->arena, struct caller, 1);
  *c = (struct caller){.o = o};
  snprintf(c->name, sizeof c->name, "%s", name);
  turn_init(&c->turn);
  c->turn.go = on_go;
  take(c);
  return c;
}

// The lane takes so many calls, and so many wait.
static void allow(struct lanes_world *o, size_t at_once, size_t waiting) {
  o->spec.max_in_flight = at_once;
  o->max_waiting = waiting;
  open_again(o);
  open_common(o);
}

static void calls_are_under_way_up_to_a_limit(void **state) {
  struct lanes_world *o = *state;
  allow(o, 2, 10);
  struct caller *first = comes(o, "a1"), *second = comes(o, "a2"), *third = comes(o, "a3");
  hears(o, "a1\na2\n");
  turn_end(&first->turn);
  hears(o, "a3\n");
  turn_leave(&second->turn);
  turn_leave(&third->turn);
  assert_int_equal(the_lane(o)->busy, 0);
  turn_leave(&first->turn);
  assert_true(list_empty(&the_lane(o)->users));
}

static void callers_take_turns_however_many_calls_each_of_them_has(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 100);
  struct caller *all[12];
  static const char *const names[] = {"a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2", "c1", "a7", "b3", "c2"};
  for (int i = 0; i < 12; i++) all[i] = comes(o, names[i]);
  hears(o, "a1\n");
  static const int order[] = {0, 1, 6, 8, 2, 7, 11, 3, 10, 4, 5, 9};
  for (int i = 0; i < 12; i++) {
    turn_leave(&all[order[i]]->turn);
    if (i == 11) break;
    char want[8];
    snprintf(want, sizeof want, "%s\n", names[order[i + 1]]);
    hears(o, want);
  }
}

// The first is under way, the others wait: they go on in this order.
static void go_on(struct lanes_world *o, struct caller **first, const char *const *order, size_t n) {
  struct caller *running = *first;
  for (size_t i = 0; i < n; i++) {
    turn_leave(&running->turn);
    char want[8];
    snprintf(want, sizeof want, "%s\n", order[i]);
    hears(o, want);
    for (struct caller **it = first; strcmp((running = *it)->name, order[i]) != 0;) it++;
  }
  turn_leave(&running->turn);
}

static void principals_take_turns_whatever_the_number_of_their_agents(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 100);
  static const char *const names[] = {"Aa1", "Aa2", "Aa3", "Ab1", "Ac1", "Ad1", "Bx1", "Bx2", "By1"};
  static const char *const order[] = {"Aa2", "Bx1", "Ab1", "By1", "Ac1", "Bx2", "Ad1", "Aa3"};
  struct caller *all[9];
  for (int i = 0; i < 9; i++) all[i] = comes(o, names[i]);
  hears(o, "Aa1\n");
  go_on(o, all, order, 8);
}

static void agents_of_the_same_name_wait_with_their_principal(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 100);
  static const char *const names[] = {"Aa1", "Aa2", "Aa3", "Ba1", "Ba2"};
  static const char *const order[] = {"Aa2", "Ba1", "Aa3", "Ba2"};
  struct caller *all[5];
  for (int i = 0; i < 5; i++) all[i] = comes(o, names[i]);
  hears(o, "Aa1\n");
  go_on(o, all, order, 4);
}

static void many_that_end_together_let_as_many_go_on(void **state) {
  struct lanes_world *o = *state;
  allow(o, 3, 100);
  struct caller *first[3] = {comes(o, "a1"), comes(o, "a2"), comes(o, "a3")}, *next[4];
  static const char *const names[] = {"a4", "b1", "b2", "b3"};
  for (int i = 0; i < 4; i++) next[i] = comes(o, names[i]);
  hears(o, "a1\na2\na3\n");
  for (int i = 0; i < 3; i++) turn_leave(&first[i]->turn);
  hears(o, "a4\nb1\nb2\n");
  for (int i = 0; i < 3; i++) turn_leave(&next[i]->turn);
  hears(o, "b3\n");
  turn_leave(&next[3]->turn);
}

static void one_too_many_is_refused(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 2);
  struct caller *all[3] = {comes(o, "a1"), comes(o, "a2"), comes(o, "a3")};
  comes(o, "a4");
  hears(o, "a1\na4 refused: has too many calls: 1 in flight and 2 waiting (limits.server_queue)\n");
  for (int i = 0; i < 3; i++) turn_leave(&all[i]->turn);
}

static void the_longest_line_makes_room_for_another_caller(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 4);
  struct caller *all[5];
  static const char *const names[] = {"a1", "a2", "a3", "a4", "a5"};
  for (int i = 0; i < 5; i++) all[i] = comes(o, names[i]);
  struct caller *b1 = comes(o, "b1"), *b2 = comes(o, "b2");
  hears(o, "a1\na5 refused\na4 refused\n");
  comes(o, "b3");  // has as many as the other
  comes(o, "a6");
  some_turns(&o->w);
  assert_true(str_starts(buf_view(&o->heard), STR("b3 refused: ")));
  buf_reset(&o->heard);
  struct caller *c1 = comes(o, "c1");
  hears(o, "a3 refused\n");
  turn_leave(&all[0]->turn);
  hears(o, "a2\n");
  turn_leave(&all[1]->turn);
  hears(o, "b1\n");
  turn_leave(&b1->turn);
  hears(o, "c1\n");
  turn_leave(&c1->turn);
  hears(o, "b2\n");
  turn_leave(&b2->turn);
}

static void many_agents_of_a_principal_do_not_take_the_room_of_another(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 4);
  static const char *const names[] = {"Aa1", "Ab1", "Ac1", "Ad1", "Ae1"};
  for (int i = 0; i < 5; i++) comes(o, names[i]);
  comes(o, "Bx1");
  hears(o, "Aa1\nAe1 refused\n");
  comes(o, "Bx2");
  hears(o, "Ad1 refused\n");
  comes(o, "By1");  // of two that have as many, none loses for the other
  hears(o, "Bx2 refused\n");
  comes(o, "Bz1");
  assert_true(str_starts(buf_view(&o->heard), STR("Bz1 refused: ")));
  buf_reset(&o->heard);
}

static void within_a_principal_the_longest_line_makes_room(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 3);
  static const char *const names[] = {"Aa1", "Aa2", "Aa3", "Aa4"};
  for (int i = 0; i < 4; i++) comes(o, names[i]);
  comes(o, "Ab1");
  hears(o, "Aa1\nAa4 refused\n");
}

static void who_waits_may_leave(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 10);
  struct caller *first = comes(o, "a1"), *second = comes(o, "b1"), *third = comes(o, "c1");
  hears(o, "a1\n");
  turn_leave(&second->turn);
  turn_leave(&second->turn);
  turn_end(&first->turn);
  hears(o, "c1\n");
  turn_leave(&third->turn);
  turn_leave(&first->turn);
}

static void a_question_to_a_client_lets_another_call_be_under_way(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 10);
  struct caller *first = comes(o, "a1"), *second = comes(o, "a2"), *third = comes(o, "a3");
  hears(o, "a1\n");
  lane_asks(the_lane(o));
  hears(o, "a2\n");
  the_lane(o)->asks--;
  turn_leave(&first->turn);
  hears(o, "");
  turn_leave(&second->turn);
  hears(o, "a3\n");
  turn_leave(&third->turn);
}

static void a_lane_that_somebody_waits_for_is_in_use(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 10);
  struct caller *first = comes(o, "a1"), *second = comes(o, "a2");
  hears(o, "a1\n");
  turn_leave(&first->turn);
  assert_false(lane_is_idle(the_lane(o)));  // though nothing is under way until the other hears of it
  hears(o, "a2\n");
  turn_end(&second->turn);
  assert_false(lane_is_idle(the_lane(o)));
  turn_leave(&second->turn);
  assert_true(lane_is_idle(the_lane(o)));
}

static void who_waits_hears_that_the_server_is_gone(void **state) {
  struct lanes_world *o = *state;
  allow(o, 1, 10);
  struct caller *first = comes(o, "a1");
  comes(o, "a2");
  comes(o, "b1");
  hears(o, "a1\n");
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "is gone");
  turns_fail(the_lane(o), &f);
  hears(o, "a2 refused\nb1 refused\n");
  comes(o, "c1");
  struct lane *lane = the_lane(o);
  lane_free(&lane);
  hears(o, "c1 refused\n");
  assert_null(first->turn.lane);
  turn_leave(&first->turn);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(calls_are_under_way_up_to_a_limit),
      TEST(callers_take_turns_however_many_calls_each_of_them_has),
      TEST(principals_take_turns_whatever_the_number_of_their_agents),
      TEST(agents_of_the_same_name_wait_with_their_principal),
      TEST(many_that_end_together_let_as_many_go_on),
      TEST(one_too_many_is_refused),
      TEST(the_longest_line_makes_room_for_another_caller),
      TEST(many_agents_of_a_principal_do_not_take_the_room_of_another),
      TEST(within_a_principal_the_longest_line_makes_room),
      TEST(who_waits_may_leave),
      TEST(a_question_to_a_client_lets_another_call_be_under_way),
      TEST(a_lane_that_somebody_waits_for_is_in_use),
      TEST(who_waits_hears_that_the_server_is_gone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
