// SPDX-License-Identifier: Apache-2.0
// Lanes that are opened before a client comes: what clients see without a lane of their own, who takes such a lane
// over, and when it is replaced. One server, which has sessions, and as few connections to it as possible.
#include "lane_world.h"

#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "upstream/upstream_impl.h"

#define SAMPLING "{\"sampling\":{}}"
#define ROOTS "{\"roots\":{}}"
#define X "{\"name\":\"x\",\"inputSchema\":{}}"
#define Y "{\"name\":\"y\",\"inputSchema\":{}}"

static char state_dir[64];

static int enter(void **state) {
  setup(state);
  struct lanes_world *o = *state;
  snprintf(state_dir, sizeof state_dir, "/tmp/toolgate-XXXXXX");
  assert_non_null(mkdtemp(state_dir));
  o->state_dir = state_dir;
  o->tools = "[" X "]";
  open_again(o);
  return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  return remove(path);
}

static int leave(void **state) {
  teardown(state);
  nftw(state_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  return 0;
}

static struct session *new_client(struct lanes_world *o, const char *capabilities) {
  struct session *s = ARENA_ARRAY(&o->arena, struct session, 1);
  *s = client(capabilities);
  return s;
}

static int connected(struct lanes_world *o) {
  int n = 0;
  LIST_EACH(it, &o->all->list[0]->lanes) n += CONTAINER_OF(it, struct lane, node)->link != NULL;
  return n;
}

static void on_go(struct lane_waiter *w, const struct fault *f) {
}

// A call of this client: gives its lane, ready and listed.
static struct lane *use(struct lanes_world *o, struct session *s) {
  struct fault f;
  struct lane *lane = upstreams_lane(o->all, 0, s, &f);
  assert_non_null(lane);
  struct lane_waiter *w = ARENA_ARRAY(&o->arena, struct lane_waiter, 1);
  *w = (struct lane_waiter){.go = on_go};
  lane_await(lane, w);
  wait_state(o, lane, LANE_READY);
  for (uint64_t until = real_ms() + DEADLINE_MS; !lane->listed;) turn(&o->w, -1, until);
  return lane;
}

static void declared(struct lanes_world *o, const char *capabilities) {
  if (!str_eq(buf_view(&o->as), str_of(capabilities)))
    fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&o->as)), capabilities);
}

// The names of the tools that a session sees, each with a blank after it.
static void sees(struct lanes_world *o, struct session *s, const char *want) {
  const struct catalog *c = upstreams_catalog(o->all);
  uint32_t view = upstreams_view(o->all, 0, s);
  struct buf names;
  buf_init(&names, 4096);
  for (size_t i = 0; i < c->count[ITEM_TOOL]; i++)
    if (c->items[ITEM_TOOL][i].seen & view) buf_printf(&names, "%.*s ", STR_ARG(c->items[ITEM_TOOL][i].name));
  if (!str_eq(buf_view(&names), str_of(want))) fail_msg("sees '%.*s' instead of '%s'", STR_ARG(buf_view(&names)), want);
  buf_done(&names);
}

static void stopped(void *ctx) {
  *(int *)ctx = 1;
}

// The program ends and starts again, with the same state folder.
static struct lane *start_again(struct lanes_world *o) {
  int done = 0;
  upstreams_stop(o->all, stopped, &done);
  for (uint64_t until = real_ms() + DEADLINE_MS; !done;) {
    assert_true(real_ms() < until);
    advance(&o->w, 20);
  }
  upstreams_free(&o->all);
  for (int i = 0; i < 400 && o->w.loop.uv.active_reqs.count; i++) turn(&o->w, -1, real_ms() + DEADLINE_MS);
  open_upstreams(o);
  buf_reset(&o->asked);
  return open_common(o);
}

// ---- what is seen

static void to_list_and_to_find_no_client_needs_a_lane(void **state) {
  struct lanes_world *o = *state;
  struct lane *common = open_common(o);
  is_asked(o, OPENED);
  struct session *a = new_client(o, SAMPLING);
  assert_true(upstreams_settle(o->all, a));
  assert_true(upstreams_known(o->all, a));
  assert_true(upstreams_available(o->all, 0, a));
  sees(o, a, "x ");
  assert_ptr_equal(upstreams_lane_seen(o->all, 0, a), common);
  assert_null(upstreams_lane_find(o->all, 0, a));
  is_asked(o, "");
  assert_int_equal(connected(o), 1);
}

static void what_was_listed_is_seen_after_the_lane_is_gone(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, ROOTS), *c = new_client(o, "{}");
  use(o, a);
  upstreams_forget(o->all, a);
  assert_int_equal(connected(o), 0);
  buf_reset(&o->asked);
  assert_true(upstreams_settle(o->all, b));
  sees(o, b, "x ");
  sees(o, c, "x ");
  is_asked(o, "");
}

static void one_lane_is_opened_when_nothing_is_known_and_others_wait_for_it(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, ROOTS), *c = new_client(o, "{}");
  assert_false(upstreams_settle(o->all, a));
  assert_false(upstreams_settle(o->all, b));
  assert_false(upstreams_settle(o->all, c));
  for (uint64_t until = real_ms() + DEADLINE_MS; !upstreams_settle(o->all, b);) turn(&o->w, -1, until);
  assert_true(upstreams_settle(o->all, a));
  assert_true(upstreams_settle(o->all, c));
  sees(o, c, "x ");
  struct lane *lane = upstreams_lane_find(o->all, 0, a);
  assert_ptr_equal(lane->session, a);  // the one that it will use
  is_asked(o, OPENED);
}

static void a_list_that_is_another_for_its_own_lane_is_told(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, ROOTS);
  open_common(o);
  advance(&o->w, 100);
  int changes = o->changes;
  o->tools = "[" X "," Y "]";
  use(o, a);
  advance(&o->w, 100);
  assert_int_equal(o->changes, changes + 1);
  sees(o, a, "x y ");
  sees(o, b, "x ");  // as the common one listed
}

static void wait_settled(struct lanes_world *o, struct session *s) {
  for (uint64_t until = real_ms() + DEADLINE_MS; !upstreams_settle_exactly(o->all, s);) turn(&o->w, -1, until);
}

static void a_client_that_wants_its_exact_list_has_the_unused_lane_opened_anew(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, ROOTS), *c = new_client(o, "{}");
  struct lane *common = open_common(o);
  o->tools = "[" X "," Y "]";
  assert_false(upstreams_settle_exactly(o->all, a));
  wait_settled(o, a);
  declared(o, SAMPLING);
  sees(o, a, "x y ");
  sees(o, c, "x ");
  is_asked(o, OPENED "initialize\n");
  assert_int_equal(connected(o), 1);
  // It is still nobody's, and the client's when it calls.
  assert_null(common->session);
  assert_ptr_equal(use(o, a), common);
  // One that is used is left alone.
  assert_true(upstreams_settle_exactly(o->all, b));
  sees(o, b, "x ");
  is_asked(o, "");
}

static void a_list_that_does_not_depend_on_capabilities_is_not_asked_for_again(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, ROOTS);
  open_common(o);
  wait_settled(o, a);
  is_asked(o, OPENED "initialize\n");
  assert_true(upstreams_settle_exactly(o->all, b));
  sees(o, b, "x ");
  is_asked(o, "");
}

static void a_change_is_seen_by_clients_without_a_lane(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, "{}");
  open_common(o);
  struct lane *lane = use(o, a);
  sees(o, b, "x ");
  o->tools = "[" Y "]";
  int lists = o->lists;
  lane_refresh(lane);
  for (int i = 0; i < 500 && o->lists == lists; i++) advance(&o->w, 20);
  for (int i = 0; i < 10; i++) advance(&o->w, 20);
  sees(o, a, "y ");
  sees(o, b, "y ");  // though it was listed with its capabilities before
}

// ---- who takes it over

static void one_with_other_capabilities_is_replaced_and_there_is_no_second(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  declared(o, "{}");
  is_asked(o, OPENED);
  struct session *a = new_client(o, SAMPLING);
  struct lane *lane = use(o, a);
  declared(o, SAMPLING);
  is_asked(o, "initialize\n");
  assert_ptr_equal(lane->session, a);
  assert_int_equal(connected(o), 1);
}

static void the_next_run_opens_it_with_the_capabilities_of_the_last_client(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  use(o, new_client(o, SAMPLING));
  struct lane *ahead = start_again(o);
  declared(o, SAMPLING);
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, SAMPLING);
  is_asked(o, OPENED);
  assert_ptr_equal(use(o, a), ahead);
  assert_ptr_equal(ahead->session, a);
  assert_int_equal(o->all->list[0]->own.total, 1);
  is_asked(o, "");
  // It is not the next one's.
  assert_ptr_not_equal(use(o, b), ahead);
  assert_int_equal(connected(o), 2);
  upstreams_forget(o->all, a);
  memset(a, 0xff, sizeof *a);
  assert_int_equal(connected(o), 1);
  sees(o, b, "x ");
}

static void a_client_that_can_be_asked_nothing_is_not_given_one_that_says_it_can(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  use(o, new_client(o, SAMPLING));
  start_again(o);
  struct session *a = new_client(o, "{}");
  sees(o, a, "x ");
  struct lane *lane = use(o, a);
  declared(o, "{}");
  assert_null(lane->session);
  assert_ptr_equal(lane, o->all->list[0]->common);
  assert_int_equal(connected(o), 1);
}

static void one_whose_server_was_refused_an_answer_is_replaced(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  use(o, new_client(o, ROOTS));
  struct lane *ahead = start_again(o);
  declared(o, ROOTS);
  ahead->asked = true;
  buf_reset(&o->asked);
  struct session *a = new_client(o, ROOTS);
  assert_ptr_equal(use(o, a)->session, a);
  is_asked(o, "initialize\n");
  assert_int_equal(connected(o), 1);
}

static void one_that_is_starting_is_not_interrupted_but_closed_once_it_has_listed(void **state) {
  struct lanes_world *o = *state;
  upstreams_start(o->all);
  struct session *a = new_client(o, SAMPLING);
  struct lane *lane = use(o, a);
  for (int i = 0; i < 200 && connected(o) > 1; i++) advance(&o->w, 10);
  assert_int_equal(connected(o), 1);
  assert_ptr_equal(upstreams_lane_find(o->all, 0, a), lane);
  assert_int_equal(lane->state, LANE_READY);
  assert_null(o->all->list[0]->common);
}

static void one_that_is_starting_and_fails_is_not_tried_again(void **state) {
  struct lanes_world *o = *state;
  o->refuse_opening = 1;
  upstreams_start(o->all);
  struct session *a = new_client(o, SAMPLING);
  struct fault f;
  upstreams_lane(o->all, 0, a, &f);
  for (int i = 0; i < 20; i++) advance(&o->w, 100);
  size_t lanes = 0;
  LIST_EACH(it, &o->all->list[0]->lanes) lanes++;
  assert_int_equal(lanes, 1);
  is_asked(o, PROBED);
}

static void what_clients_of_agents_can_do_is_not_remembered(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  struct session *a = new_client(o, SAMPLING);
  a->client = STR("ann");  // the agent it acts as
  use(o, a);
  assert_int_equal(o->all->client.n, 0);
  start_again(o);
  declared(o, "{}");
}

static void with_isolation_session_it_is_the_first_sessions(void **state) {
  struct lanes_world *o = *state;
  o->spec.isolation = UPSTREAM_ISOLATE_SESSION;
  open_again(o);
  upstreams_start(o->all);
  struct lane *ahead = o->all->list[0]->common;
  wait_state(o, ahead, LANE_READY);
  struct session *a = new_client(o, "{}"), *b = new_client(o, "{}");
  assert_ptr_equal(use(o, a), ahead);
  assert_ptr_equal(ahead->session, a);
  assert_ptr_not_equal(use(o, b), ahead);
}

static void a_stateless_servers_lane_stays_everybodys(void **state) {
  struct lanes_world *o = *state;
  open_common(o);
  use(o, new_client(o, SAMPLING));
  o->stateless = true;
  struct lane *ahead = start_again(o);
  assert_ptr_equal(use(o, new_client(o, SAMPLING)), ahead);
  assert_ptr_equal(use(o, new_client(o, "{}")), ahead);
  assert_null(ahead->session);
  assert_int_equal(connected(o), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(to_list_and_to_find_no_client_needs_a_lane),
      TEST(what_was_listed_is_seen_after_the_lane_is_gone),
      TEST(one_lane_is_opened_when_nothing_is_known_and_others_wait_for_it),
      TEST(a_list_that_is_another_for_its_own_lane_is_told),
      TEST(a_client_that_wants_its_exact_list_has_the_unused_lane_opened_anew),
      TEST(a_list_that_does_not_depend_on_capabilities_is_not_asked_for_again),
      TEST(a_change_is_seen_by_clients_without_a_lane),
      TEST(one_with_other_capabilities_is_replaced_and_there_is_no_second),
      TEST(the_next_run_opens_it_with_the_capabilities_of_the_last_client),
      TEST(a_client_that_can_be_asked_nothing_is_not_given_one_that_says_it_can),
      TEST(one_whose_server_was_refused_an_answer_is_replaced),
      TEST(one_that_is_starting_is_not_interrupted_but_closed_once_it_has_listed),
      TEST(one_that_is_starting_and_fails_is_not_tried_again),
      TEST(what_clients_of_agents_can_do_is_not_remembered),
      TEST(with_isolation_session_it_is_the_first_sessions),
      TEST(a_stateless_servers_lane_stays_everybodys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
