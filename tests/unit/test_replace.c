// SPDX-License-Identifier: Apache-2.0
// Servers that are configured anew while they are used: who keeps what, and where those go who wait.
#include "lane_world.h"

#include "upstream/upstream_impl.h"

struct waiter {
  struct lane_waiter w;
  bool told, again;
  char message[FAULT_TEXT];
};

static void on_go(struct lane_waiter *w, const struct fault *f) {
  struct waiter *a = CONTAINER_OF(w, struct waiter, w);
  a->told = true;
  a->again = f && f->again;
  snprintf(a->message, sizeof a->message, "%s", f ? f->message : "");
}

static struct session *new_client(struct lanes_world *o) {
  struct session *s = ARENA_ARRAY(&o->arena, struct session, 1);
  *s = client("{}");
  return s;
}

static struct lane *lane_at(struct lanes_world *o, unsigned index, struct session *s) {
  struct fault f;
  struct lane *lane = upstreams_lane(o->all, index, s, &f);
  assert_non_null(lane);
  return lane;
}

static struct upstreams_change replace(struct lanes_world *o, const struct upstream_spec *specs, size_t count) {
  struct upstreams_change change;
  struct fault f;
  assert_true(upstreams_replace(o->all, specs, count, &change, &f));
  return change;
}

static struct upstream_spec other_timeout(struct lanes_world *o) {
  struct upstream_spec spec = o->spec;
  spec.timeout_ms = 1234;
  return spec;
}

static void a_server_that_is_configured_as_before_keeps_its_lane(void **state) {
  struct lanes_world *o = *state;
  struct session *s = new_client(o);
  struct lane *lane = lane_at(o, 0, s);
  struct upstream_spec specs[] = {o->spec, o->spec};
  specs[1].name = STR("second");
  struct upstreams_change change = replace(o, specs, 2);
  assert_int_equal(change.kept, 1);
  assert_int_equal(change.added, 1);
  assert_ptr_equal(lane_at(o, 0, s), lane);
  assert_int_equal(upstreams_count(o->all), 2);
}

// What was opened ahead is an agent's by now, or was closed since nobody needed it: all is known all the same.
static void a_server_that_stays_is_not_opened_ahead_again(void **state) {
  struct lanes_world *o = *state;
  struct session *s = new_client(o);
  struct lane *lane = open_common(o);
  s->client = STR("ann");
  assert_ptr_equal(lane_at(o, 0, s), lane);
  struct upstream_spec specs[] = {o->spec, o->spec};
  specs[1].name = STR("second");
  replace(o, specs, 2);
  upstreams_start(o->all);
  assert_int_equal(o->all->list[0]->starts, 1);
  assert_int_equal(o->all->list[1]->starts, 1);
  lane_free(&lane);
  upstreams_start(o->all);
  assert_int_equal(o->all->list[0]->starts, 1);
}

static void who_waits_for_a_server_is_sent_to_the_one_in_its_place(void **state) {
  struct lanes_world *o = *state;
  struct session *s = new_client(o);
  struct waiter a = {.w = {.go = on_go}};
  struct lane *before = lane_at(o, 0, s);
  lane_await(before, &a.w);
  assert_false(a.told);
  struct upstream_spec spec = other_timeout(o);
  assert_int_equal(replace(o, &spec, 1).changed, 1);
  assert_true(a.told && a.again);
  assert_int_equal(upstreams_timeout(o->all, 0), 1234);
  assert_true(list_empty(&o->all->leaving));  // nothing was under way there
}

static void what_is_under_way_keeps_its_lane_until_it_ends(void **state) {
  struct lanes_world *o = *state;
  struct session *s = new_client(o);
  struct lane *before = lane_at(o, 0, s);
  struct list call;
  list_push(&before->calls, &call);
  struct upstream_spec spec = other_timeout(o);
  replace(o, &spec, 1);
  assert_false(list_empty(&o->all->leaving));
  assert_ptr_not_equal(lane_at(o, 0, s), before);
  assert_int_equal(lane_index(before), 0);
  list_remove(&call);
  advance(&o->w, 100);
  assert_true(list_empty(&o->all->leaving));
}

static void a_server_that_is_removed_keeps_its_place_and_has_no_lanes(void **state) {
  struct lanes_world *o = *state;
  struct session *s = new_client(o);
  struct waiter a = {.w = {.go = on_go}};
  struct fault f;
  unsigned index;
  lane_await(lane_at(o, 0, s), &a.w);
  assert_int_equal(replace(o, NULL, 0).removed, 1);
  assert_true(a.told && !a.again);
  assert_non_null(strstr(a.message, "was removed from the configuration"));
  assert_true(upstreams_gone(o->all, 0));
  assert_null(upstreams_lane(o->all, 0, s, &f));
  assert_int_equal(f.code, FAULT_NOT_FOUND);
  assert_false(upstreams_find(o->all, STR("srv"), &index));
  struct upstream_spec spec = o->spec;
  spec.name = STR("another");
  replace(o, &spec, 1);
  assert_true(upstreams_find(o->all, STR("another"), &index));
  assert_int_equal(index, 1);
  replace(o, &o->spec, 1);
  assert_true(upstreams_find(o->all, STR("srv"), &index));
  assert_int_equal(index, 0);
}

static void what_cannot_be_changes_nothing(void **state) {
  struct lanes_world *o = *state;
  struct upstreams_change change;
  struct fault f;
  struct upstream_spec specs[] = {other_timeout(o), o->spec};
  specs[1].name = STR("wrong");
  specs[1].url = STR("no url");
  assert_false(upstreams_replace(o->all, specs, 2, &change, &f));
  assert_int_equal(upstreams_count(o->all), 1);
  assert_int_equal(upstreams_timeout(o->all, 0), 60000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_server_that_is_configured_as_before_keeps_its_lane, setup, teardown),
      cmocka_unit_test_setup_teardown(a_server_that_stays_is_not_opened_ahead_again, setup, teardown),
      cmocka_unit_test_setup_teardown(who_waits_for_a_server_is_sent_to_the_one_in_its_place, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_under_way_keeps_its_lane_until_it_ends, setup, teardown),
      cmocka_unit_test_setup_teardown(a_server_that_is_removed_keeps_its_place_and_has_no_lanes, setup, teardown),
      cmocka_unit_test_setup_teardown(what_cannot_be_changes_nothing, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
