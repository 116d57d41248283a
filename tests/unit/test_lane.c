// SPDX-License-Identifier: Apache-2.0
// Lanes: which clients share one, and what an upstream of unknown era is taken for.
#include "lane_world.h"

#include "mcp/client/link_impl.h"
#include "upstream/lane/turns.h"
#include "upstream/upstream_impl.h"

#define ALL \
  "{\"roots\":{\"listChanged\":true},\"sampling\":{\"tools\":{},\"context\":{}}," \
  "\"elicitation\":{\"form\":{},\"url\":{}}"
#define ALL_STATELESS ALL ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"

struct waiter {
  struct lane_waiter w;
  struct lanes_world *o;
  char name;
};

static void on_go(struct lane_waiter *w, const struct fault *f) {
  struct waiter *a = CONTAINER_OF(w, struct waiter, w);
  if (!f) assert_int_equal(w->lane->state, LANE_READY);
  write_line(&a->o->heard, "%c %s", a->name, f ? f->message : "goes on");
}

static struct lane *lane_of(struct lanes_world *o, struct session *s) {
  struct fault f;
  struct lane *lane = upstreams_lane(o->all, 0, s, &f);
  assert_non_null(lane);
  return lane;
}

// Waits for a session's lane.
static struct waiter *wait_lane(struct lanes_world *o, char name, struct session *s) {
  struct waiter *a = ARENA_ARRAY(&o->arena, struct waiter, 1);
  *a = (struct waiter){.o = o, .name = name, .w = {.go = on_go}};
  lane_await(lane_of(o, s), &a->w);
  return a;
}

static struct session *new_client(struct lanes_world *o, const char *capabilities) {
  struct session *s = ARENA_ARRAY(&o->arena, struct session, 1);
  *s = client(capabilities);
  return s;
}

static void is_known_as(struct lanes_world *o, const char *capabilities) {
  some_turns(&o->w);
  if (!str_eq(buf_view(&o->as), str_of(capabilities)))
    fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&o->as)), capabilities);
}

#define SAMPLING "{\"sampling\":{}}"
#define ROOTS "{\"roots\":{}}"

// ---- who shares a lane

static void clients_that_can_be_asked_have_lanes_of_their_own(void **state) {
  struct lanes_world *o = *state;
  struct lane *common = open_common(o);
  is_asked(o, OPENED);
  is_known_as(o, "{}");
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, "{}");
  assert_ptr_equal(lane_of(o, b), common);
  struct waiter *w = wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  is_asked(o, "initialize\n");
  is_known_as(o, SAMPLING);
  assert_ptr_equal(w->w.lane->session, a);
  assert_ptr_not_equal(w->w.lane, common);
  assert_ptr_equal(lane_of(o, b), common);
  assert_false(lane_stateless(common));
  upstreams_forget(o->all, a);
  assert_null(upstreams_lane_find(o->all, 0, a));
}

static void a_stateless_server_has_one_lane_for_all(void **state) {
  struct lanes_world *o = *state;
  struct lane *common = open_common(o);
  is_asked(o, PROBED);
  is_known_as(o, ALL_STATELESS);
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, "{}");
  assert_ptr_equal(lane_of(o, a), common);
  assert_ptr_equal(lane_of(o, b), common);
  assert_int_equal(upstreams_view(o->all, 0, a), 1);
  assert_int_equal(upstreams_view(o->all, 0, b), 1);
  assert_true(upstreams_settle(o->all, a));
  is_asked(o, "");
}

static void the_first_lane_to_a_stateless_server_becomes_the_common_one(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, "{}");
  struct waiter *w = wait_lane(o, 'a', a);
  assert_ptr_equal(w->w.lane->session, a);
  hears(o, "a goes on\n");
  assert_null(w->w.lane->session);
  assert_ptr_equal(lane_of(o, b), w->w.lane);
  is_known_as(o, ALL_STATELESS);
  upstreams_forget(o->all, a);  // it was not the session's to take along
  memset(a, 0xff, sizeof *a);
  assert_ptr_equal(upstreams_lane_find(o->all, 0, b), w->w.lane);
  assert_int_equal(w->w.lane->upstream->own.total, 0);
  is_asked(o, PROBED);
}

static void another_lane_to_a_stateless_server_joins_the_common_one(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, ROOTS);
  struct waiter *v = wait_lane(o, 'a', a), *w = wait_lane(o, 'b', b), *gone = wait_lane(o, 'c', b);
  lane_unwait(&gone->w);
  assert_ptr_not_equal(v->w.lane, w->w.lane);
  hears(o, "a goes on\nb goes on\n");
  assert_ptr_equal(v->w.lane, w->w.lane);
  assert_ptr_equal(upstreams_lane_find(o->all, 0, b), w->w.lane);
  assert_int_equal(w->w.lane->upstream->own.total, 0);
  is_asked(o, PROBED PROBED);
}

static void the_common_lane_need_not_wait_when_another_finds_the_server_well(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, "{}");
  o->refuse_opening = 1;
  upstreams_start(o->all);
  struct lane *common = lane_of(o, b);
  wait_state(o, common, LANE_DOWN);
  struct waiter *w = wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  assert_ptr_equal(w->w.lane, common);
  is_asked(o, PROBED PROBED PROBED);
}

static void a_lane_that_a_question_names_is_kept_for_its_session(void **state) {
  struct lanes_world *o = *state;
  struct lane *common = open_common(o);
  assert_ptr_equal(lane_of(o, new_client(o, "{}")), common);  // somebody uses it
  o->all->list[0]->era = LINK_ERA_UNKNOWN;
  struct session *a = new_client(o, SAMPLING);
  struct lane *own = lane_of(o, a);
  assert_ptr_equal(own->session, a);
  own->asks = 1;
  struct waiter *w = wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  assert_ptr_not_equal(w->w.lane, own);
  own->asks = 0;
  upstreams_forget(o->all, a);
}

static void what_is_watched_on_a_lane_goes_with_its_clients_to_the_common_one(void **state) {
  struct lanes_world *o = *state;
  o->agrees = true;
  o->stateless = false;
  struct lane *common = open_common(o);
  is_asked(o, OPENED);
  assert_ptr_equal(lane_of(o, new_client(o, "{}")), common);  // somebody uses it
  struct session *a = new_client(o, SAMPLING);
  wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  struct lane *own = lane_of(o, a);
  struct watcher *w = ARENA_ARRAY(&o->arena, struct watcher, 1), *v = ARENA_ARRAY(&o->arena, struct watcher, 1);
  *w = *v = (struct watcher){.watch = NULL};
  watch_start(own, WATCH_RESOURCE, STR("a://1"), w);
  watch_start(common, WATCH_RESOURCE, STR("a://1"), v);
  is_asked(o, "initialize\nresources/subscribe \"a://1\"\nresources/subscribe \"a://1\"\n");
  o->stateless = true;
  o->agrees = false;
  o->all->list[0]->era = LINK_ERA_UNKNOWN;
  // Both are lost, as when the server is replaced by a newer one.
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "was replaced");
  link_broken(common->link, &f);
  link_broken(own->link, &f);
  wait_lane(o, 'b', new_client(o, "{}"));
  hears(o, "b server \"srv\" is not available: it was replaced; try again later\n");
  advance(&o->w, 300);
  wait_state(o, common, LANE_READY);
  is_asked(o, PROBED "subscriptions/listen {\"resourceSubscriptions\":[\"a://1\"]}\n");
  assert_ptr_equal(watch_lane(w), own);
  o->all->list[0]->era = LINK_ERA_UNKNOWN;  // so that its own is tried once more
  wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  assert_ptr_equal(watch_lane(w), common);
  assert_ptr_equal(watch_lane(v), common);
  is_asked(o, PROBED);
}

static void with_isolation_every_session_has_its_own(void **state) {
  struct lanes_world *o = *state;
  o->spec.isolation = UPSTREAM_ISOLATE_SESSION;
  open_again(o);
  struct session *a = new_client(o, SAMPLING), *b = new_client(o, "{}");
  struct waiter *v = wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  is_known_as(o, SAMPLING);
  struct waiter *w = wait_lane(o, 'b', b);
  hears(o, "b goes on\n");
  is_known_as(o, "{}");
  assert_ptr_equal(v->w.lane->session, a);
  assert_ptr_equal(w->w.lane->session, b);
  upstreams_forget(o->all, a);
  assert_null(upstreams_lane_find(o->all, 0, a));
}

static void a_server_that_comes_back_with_sessions_gives_clients_their_own_again(void **state) {
  struct lanes_world *o = *state;
  struct lane *common = open_common(o);
  struct session *a = new_client(o, SAMPLING);
  assert_ptr_equal(lane_of(o, a), common);
  o->stateless = false;
  lane_free(&common);
  common = lane_of(o, a);  // as long as nothing else is known
  assert_null(common->session);
  wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  assert_false(lane_stateless(common));
  assert_ptr_equal(lane_of(o, a)->session, a);
}

// ---- agents

static struct session *new_agent(struct lanes_world *o, const char *name, const char *capabilities) {
  struct session *s = new_client(o, capabilities);
  s->client = str_of(name);
  return s;
}

static void every_agent_has_its_own_lane_which_its_clients_share(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_agent(o, "ann", "{}"), *again = new_agent(o, "ann", "{}"), *b = new_agent(o, "bob", "{}");
  struct session *nobody = new_client(o, "{}");
  struct lane *of_a = lane_of(o, a);
  assert_ptr_equal(lane_of(o, again), of_a);
  assert_ptr_not_equal(lane_of(o, b), of_a);
  assert_ptr_not_equal(lane_of(o, nobody), of_a);
  assert_ptr_not_equal(lane_of(o, nobody), lane_of(o, b));
  assert_int_equal(of_a->upstream->own.total, 2);
  // One that can be asked has a lane for each agent it acts as.
  struct session *c = new_agent(o, "ann", SAMPLING);
  struct lane_user as_bob = {c, STR("bob")};
  struct fault f;
  struct lane *own = lane_of(o, c), *other = upstreams_lane_for(o->all, 0, &as_bob, &f);
  assert_ptr_equal(own->session, c);
  assert_ptr_equal(other->session, c);
  assert_ptr_not_equal(own, other);
  assert_ptr_equal(upstreams_lane_find_for(o->all, 0, &as_bob), other);
  upstreams_forget(o->all, c);
  assert_int_equal(of_a->upstream->own.total, 2);
}

static void with_isolation_session_each_agent_of_a_session_has_its_own(void **state) {
  struct lanes_world *o = *state;
  o->spec.isolation = UPSTREAM_ISOLATE_SESSION;
  open_again(o);
  struct session *s = new_agent(o, "ann", "{}"), *other = new_agent(o, "ann", "{}");
  struct lane_user as_bob = {s, STR("bob")};
  struct fault f;
  struct lane *ann = lane_of(o, s), *bob = upstreams_lane_for(o->all, 0, &as_bob, &f);
  assert_ptr_not_equal(ann, bob);
  assert_ptr_not_equal(lane_of(o, other), ann);
  assert_ptr_equal(lane_of(o, s), ann);
  assert_ptr_equal(upstreams_lane_find_for(o->all, 0, &as_bob), bob);
  upstreams_forget(o->all, s);  // both go with it
  assert_null(upstreams_lane_find(o->all, 0, s));
  assert_null(upstreams_lane_find_for(o->all, 0, &as_bob));
}

static void credentials_that_are_no_agents_are_kept_apart(void **state) {
  struct lanes_world *o = *state;
  struct mcp_server m = {0};
  struct session *a = new_client(o, "{}"), *b = new_client(o, "{}"), *named = new_agent(o, "two", "{}");
  a->server = b->server = named->server = &m;
  a->principal = named->principal = 0;
  b->principal = 1;
  a->principal_name = named->principal_name = STR("one");
  b->principal_name = STR("two");
  assert_ptr_not_equal(lane_of(o, a), lane_of(o, b));
  assert_ptr_not_equal(lane_of(o, named), lane_of(o, b));  // an agent of that name is somebody else
}

static void with_isolation_shared_all_agents_have_one(void **state) {
  struct lanes_world *o = *state;
  o->spec.isolation = UPSTREAM_ISOLATE_SHARED;
  open_again(o);
  struct lane *lane = lane_of(o, new_agent(o, "ann", "{}"));
  assert_ptr_equal(lane_of(o, new_agent(o, "bob", SAMPLING)), lane);
  assert_ptr_equal(lane_of(o, new_client(o, "{}")), lane);
}

static void a_lane_that_was_opened_ahead_is_the_first_agents(void **state) {
  struct lanes_world *o = *state;
  struct lane *common = open_common(o);
  is_asked(o, OPENED);
  struct session *a = new_agent(o, "ann", "{}"), *b = new_agent(o, "bob", "{}");
  assert_true(upstreams_settle(o->all, a));  // what it offers is known: no connection is needed for that
  assert_null(upstreams_lane_find(o->all, 0, a));
  assert_ptr_equal(lane_of(o, a), common);
  assert_ptr_not_equal(lane_of(o, b), common);
  assert_ptr_not_equal(lane_of(o, new_client(o, "{}")), common);
  assert_ptr_equal(lane_of(o, a), common);
  is_asked(o, "");
}

static void what_was_opened_ahead_tells_how_an_agent_would_fare(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_agent(o, "ann", "{}");
  assert_true(upstreams_available(o->all, 0, a));  // a call would start it
  o->refuse_opening = 1;
  upstreams_start(o->all);
  wait_state(o, lane_of(o, new_client(o, "{}")), LANE_DOWN);
  assert_false(upstreams_available(o->all, 0, a));
}

static void the_name_of_an_agent_is_bounded(void **state) {
  struct lanes_world *o = *state;
  char name[2000];
  memset(name, 'x', sizeof name);
  struct session *s = new_client(o, "{}");
  struct fault f;
  s->client = (str){name, 1024};
  assert_non_null(upstreams_lane(o->all, 0, s, &f));
  s->client = (str){name, 1025};
  assert_null(upstreams_lane(o->all, 0, s, &f));
  assert_int_equal(f.code, FAULT_INVALID_AGENT_ID);
}

static void agents_that_only_look_need_one_connection_together(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_agent(o, "ann", "{}"), *b = new_agent(o, "bob", "{}");
  assert_false(upstreams_settle(o->all, a));
  assert_false(upstreams_settle(o->all, b));
  for (uint64_t until = real_ms() + DEADLINE_MS; !upstreams_settle(o->all, b);) turn(&o->w, -1, until);
  assert_true(upstreams_settle(o->all, a));
  is_asked(o, OPENED);
}

static void the_lane_used_longest_ago_makes_room(void **state) {
  struct lanes_world *o = *state;
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  struct session *agents[6];
  for (int i = 0; i < 6; i++) agents[i] = new_agent(o, names[i], "{}");
  for (int i = 0; i < 4; i++) {
    wait_lane(o, names[i][0], agents[i]);
    advance(&o->w, 10);
  }
  hears(o, "a goes on\nb goes on\nc goes on\nd goes on\n");
  lane_of(o, agents[0]);  // is the last used now
  struct lane *second = upstreams_lane_find(o->all, 0, agents[2]);
  second->asks = 1;  // somebody thinks about a question of its server
  lane_of(o, agents[4]);
  assert_null(upstreams_lane_find(o->all, 0, agents[1]));
  wait_lane(o, 'e', agents[4]);
  hears(o, "e goes on\n");
  lane_of(o, agents[5]);
  assert_null(upstreams_lane_find(o->all, 0, agents[3]));
  assert_ptr_equal(upstreams_lane_find(o->all, 0, agents[2]), second);
  second->asks = 0;
}

static void without_room_there_is_a_fault_that_says_when_to_try_again(void **state) {
  struct lanes_world *o = *state;
  static const char *const names[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 4; i++) lane_of(o, new_agent(o, names[i], "{}"))->asks = 1;
  struct session *late = new_agent(o, "late", "{}");
  struct fault f;
  assert_null(upstreams_lane(o->all, 0, late, &f));
  assert_string_equal(
      f.message,
      "server \"srv\" has no free connection for this client (limits.own_connections is 4); try again later");
  assert_int_equal(f.after_ms, 1000);
  assert_true(f.undone);
  lane_of(o, new_client(o, "{}"));  // everybody's is always there
}

// ---- principals and their shares

static struct mcp_server anywhere;

// A client with this credential, that acts as this agent; some time after the one before.
static struct session *holder(struct lanes_world *o, const char *principal, const char *agent) {
  struct session *s = new_agent(o, agent, "{}");
  s->server = &anywhere;
  s->principal = 0;
  s->principal_name = str_of(principal);
  advance(&o->w, 10);
  return s;
}

static void a_principal_leaves_lanes_to_others_however_many_agents_it_names(void **state) {
  struct lanes_world *o = *state;
  struct fault f;
  lane_of(o, holder(o, "A", "ann.1"))->asks = 1;
  lane_of(o, holder(o, "A", "ann.2"))->asks = 1;
  assert_null(upstreams_lane(o->all, 0, holder(o, "A", "ann.3"), &f));
  assert_int_equal(f.code, FAULT_RATE_LIMITED);
  assert_string_equal(
      f.message, "this principal has 2 connections to server \"srv\"; the remaining connections are reserved for other "
                 "principals (limits.own_connections is 4)");
  assert_int_equal(f.after_ms, 1000);
  assert_true(f.undone);
  lane_of(o, holder(o, "B", "bob"))->asks = 1;
  lane_of(o, holder(o, "C", "cy"))->asks = 1;
  assert_null(upstreams_lane(o->all, 0, holder(o, "D", "dan"), &f));  // it has none, and there is none left
  assert_int_equal(f.code, FAULT_UPSTREAM_UNAVAILABLE);
}

static void beyond_its_share_a_principals_own_lanes_make_room(void **state) {
  struct lanes_world *o = *state;
  struct session *other = holder(o, "B", "bob"), *first = holder(o, "A", "ann.1"), *second = holder(o, "A", "ann.2");
  struct session *third = holder(o, "A", "ann.3");
  lane_of(o, other)->asks = 1;
  lane_of(o, first);
  advance(&o->w, 10);
  lane_of(o, second);
  lane_of(o, third);
  assert_null(upstreams_lane_find(o->all, 0, first));
  assert_non_null(upstreams_lane_find(o->all, 0, second));
  assert_int_equal(shares_free(&o->all->list[0]->own), 1);
}

static void idle_lanes_of_the_principal_with_most_make_room_first(void **state) {
  struct lanes_world *o = *state;
  struct session *bob = holder(o, "B", "bob"), *cy = holder(o, "C", "cy");
  struct session *ann[2] = {holder(o, "A", "ann.1"), holder(o, "A", "ann.2")};
  struct session *all[4] = {bob, cy, ann[0], ann[1]};
  for (int i = 0; i < 4; i++) {
    lane_of(o, all[i]);
    advance(&o->w, 10);
  }
  lane_of(o, holder(o, "D", "dan"));
  assert_null(upstreams_lane_find(o->all, 0, ann[0]));  // though others were used longer ago
  lane_of(o, holder(o, "E", "eve"));                    // all have one
  assert_null(upstreams_lane_find(o->all, 0, bob));
  assert_non_null(upstreams_lane_find(o->all, 0, cy));
}

// ---- what they show

// How many connections there are to the server.
static int connected(struct lanes_world *o) {
  int n = 0;
  LIST_EACH(it, &o->all->list[0]->lanes) n += CONTAINER_OF(it, struct lane, node)->state == LANE_READY;
  return n;
}

static uint32_t view_of(struct lanes_world *o, struct session *s) {
  upstreams_catalog(o->all);
  return upstreams_view(o->all, 0, s);
}

// The names of the tools that a session sees, one behind the other.
static void sees(struct lanes_world *o, struct session *s, const char *want) {
  uint32_t view = view_of(o, s);
  const struct catalog *c = upstreams_catalog(o->all);
  struct buf names;
  buf_init(&names, 4096);
  for (size_t i = 0; i < c->count[ITEM_TOOL]; i++)
    if (c->items[ITEM_TOOL][i].seen & view) buf_printf(&names, "%.*s ", STR_ARG(c->items[ITEM_TOOL][i].name));
  if (!str_eq(buf_view(&names), str_of(want))) fail_msg("sees '%.*s' instead of '%s'", STR_ARG(buf_view(&names)), want);
  buf_done(&names);
}

static void lists_anew(struct lanes_world *o, struct lane *lane, const char *tools) {
  int lists = o->lists;
  o->tools = tools;
  lane_refresh(lane);
  for (int i = 0; i < 500 && o->lists == lists; i++) advance(&o->w, 20);
  for (int i = 0; i < 10; i++) advance(&o->w, 20);
  assert_int_equal(o->lists, lists + 1);
}

static struct session *open_agent(struct lanes_world *o, const char *name) {
  struct session *s = new_agent(o, name, "{}");
  wait_lane(o, name[0], s);
  char want[32];
  snprintf(want, sizeof want, "%c goes on\n", name[0]);
  hears(o, want);
  for (uint64_t until = real_ms() + DEADLINE_MS; !lane_of(o, s)->listed;) turn(&o->w, -1, until);
  return s;
}

#define X "{\"name\":\"x\",\"inputSchema\":{}}"
#define Y "{\"name\":\"y\",\"inputSchema\":{}}"

static void an_agent_sees_what_its_own_lane_lists(void **state) {
  struct lanes_world *o = *state;
  o->tools = "[" X "]";
  struct session *a = open_agent(o, "ann"), *b = open_agent(o, "bob"), *c = new_agent(o, "cid", "{}");
  struct upstream *u = o->all->list[0];
  assert_int_equal(u->profile_count, 1);
  lists_anew(o, lane_of(o, a), "[" X "," Y "]");
  sees(o, a, "x y ");
  sees(o, b, "x ");
  sees(o, c, "x ");  // as a new lane would show
  lists_anew(o, lane_of(o, b), "[" X "," Y "]");
  sees(o, b, "x y ");
  sees(o, c, "x ");
  assert_int_equal(u->profile_count, 2);  // what is the same is kept once
  lists_anew(o, lane_of(o, a), "[" X "]");
  lists_anew(o, lane_of(o, b), "[" X "]");
  assert_int_equal(u->profile_count, 1);
}

static void a_lane_that_is_new_tells_what_new_lanes_show(void **state) {
  struct lanes_world *o = *state;
  o->tools = "[" X "]";
  struct session *a = open_agent(o, "ann"), *c = new_agent(o, "cid", "{}");
  o->tools = "[" Y "]";
  struct session *b = open_agent(o, "bob");
  sees(o, a, "x ");
  sees(o, b, "y ");
  sees(o, c, "y ");
  for (int i = 0; i < 3; i++) advance(&o->w, 60000);
  assert_int_equal(connected(o), 0);
  sees(o, a, "y ");  // its lane is gone, and what that had shown
  assert_int_equal(o->all->list[0]->profile_count, 1);
}

static void whatever_everybodys_lane_lists_is_everybodys(void **state) {
  struct lanes_world *o = *state;
  o->tools = "[" X "]";
  struct session *nobody = new_client(o, "{}"), *c = new_agent(o, "cid", "{}");
  struct lane *common = open_common(o);
  assert_ptr_equal(lane_of(o, nobody), common);
  lists_anew(o, common, "[" Y "]");
  sees(o, nobody, "y ");
  sees(o, c, "y ");
  assert_int_equal(o->all->list[0]->profile_count, 1);
}

static void more_lists_than_are_kept_apart_are_left_out(void **state) {
  struct lanes_world *o = *state;
  char tools[MAX_PROFILES + 8][64];
  o->max_own = MAX_PROFILES + 8;
  open_again(o);
  o->tools = "[" X "]";
  struct session *first = open_agent(o, "first");
  struct session *all[MAX_PROFILES + 8];
  for (int i = 0; i < MAX_PROFILES + 4; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    snprintf(tools[i], sizeof tools[i], "[{\"name\":\"t%d\",\"inputSchema\":{}}]", i);
    o->tools = "[" X "]";
    all[i] = open_agent(o, arena_cstr(&o->arena, str_of(name)));
    lists_anew(o, lane_of(o, all[i]), tools[i]);
  }
  assert_int_equal(o->all->list[0]->profile_count, MAX_PROFILES);
  sees(o, all[0], "t0 ");
  sees(o, all[MAX_PROFILES + 3], "x ");  // as others like it
  sees(o, first, "x ");
}

// ---- rest

static void an_agents_lane_that_nobody_uses_is_closed_and_opened_again(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_agent(o, "ann", "{}"), *b = new_agent(o, "bob", "{}");
  wait_lane(o, 'a', a);
  wait_lane(o, 'b', b);
  hears(o, "a goes on\nb goes on\n");
  advance(&o->w, 40000);
  lane_of(o, b);
  advance(&o->w, 30000);
  assert_null(upstreams_lane_find(o->all, 0, a));
  assert_int_equal(lane_of(o, b)->state, LANE_READY);
  assert_int_equal(lane_of(o, b)->upstream->own.total, 1);
  wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  assert_int_equal(connected(o), 2);
}

static void what_is_in_use_is_not_closed(void **state) {
  struct lanes_world *o = *state;
  o->agrees = true;
  struct session *a = new_agent(o, "ann", "{}"), *b = new_agent(o, "bob", "{}"), *c = new_agent(o, "cid", "{}");
  wait_lane(o, 'a', a);
  wait_lane(o, 'b', b);
  wait_lane(o, 'c', c);
  hears(o, "a goes on\nb goes on\nc goes on\n");
  struct turn call;
  struct watcher *w = ARENA_ARRAY(&o->arena, struct watcher, 1);
  *w = (struct watcher){.watch = NULL};
  turn_init(&call);
  turn_hold(&call, lane_of(o, a));
  watch_start(lane_of(o, b), WATCH_RESOURCE, STR("a://1"), w);
  for (int i = 0; i < 5; i++) advance(&o->w, 60000);
  assert_non_null(upstreams_lane_find(o->all, 0, a));
  assert_non_null(upstreams_lane_find(o->all, 0, b));
  assert_null(upstreams_lane_find(o->all, 0, c));
  turn_leave(&call);
  watch_stop(w);
  for (int i = 0; i < 3; i++) advance(&o->w, 60000);
  assert_int_equal(connected(o), 0);
}

static void a_server_that_may_be_at_work_on_a_task_is_not_closed(void **state) {
  struct lanes_world *o = *state;
  struct session *a = new_agent(o, "ann", "{}");
  wait_lane(o, 'a', a);
  hears(o, "a goes on\n");
  lane_of(o, a)->kept_until = loop_now(&o->w.loop) + 200000;
  for (int i = 0; i < 3; i++) advance(&o->w, 60000);
  assert_non_null(upstreams_lane_find(o->all, 0, a));
  for (int i = 0; i < 3; i++) advance(&o->w, 60000);
  assert_null(upstreams_lane_find(o->all, 0, a));
}

static void everybodys_lane_and_a_sessions_own_stay(void **state) {
  struct lanes_world *o = *state;
  struct session *nobody = new_client(o, "{}"), *s = new_client(o, SAMPLING);
  wait_lane(o, 'a', nobody);
  wait_lane(o, 'b', s);
  hears(o, "a goes on\nb goes on\n");
  for (int i = 0; i < 5; i++) advance(&o->w, 60000);
  assert_int_equal(connected(o), 2);
}

static void unless_their_server_says_otherwise(void **state) {
  struct lanes_world *o = *state;
  o->spec.has_idle = true;
  o->spec.idle_ms = 1000;
  open_again(o);
  struct session *nobody = new_client(o, "{}"), *s = new_client(o, SAMPLING);
  wait_lane(o, 'a', nobody);
  wait_lane(o, 'b', s);
  hears(o, "a goes on\nb goes on\n");
  for (int i = 0; i < 3; i++) advance(&o->w, 1000);
  assert_int_equal(connected(o), 0);
  assert_true(upstreams_available(o->all, 0, s));
  wait_lane(o, 'a', nobody);
  wait_lane(o, 'b', s);
  hears(o, "a goes on\nb goes on\n");
}

static void a_thousand_agents_come_and_go_and_leave_nothing(void **state) {
  struct lanes_world *o = *state;
  for (int i = 0; i < 1000; i++) {
    char name[16];
    snprintf(name, sizeof name, "agent-%d", i);
    struct session *s = new_client(o, "{}");
    s->client = arena_str(&o->arena, str_of(name));
    wait_lane(o, 'a', s);
    hears(o, "a goes on\n");
    advance(&o->w, 10);
    buf_reset(&o->asked);
  }
  struct upstream *u = o->all->list[0];
  assert_int_equal(u->own.total, 4);
  assert_int_equal(map_count(&u->by_owner[LANE_OF_AGENT]), 4);
  assert_int_equal(u->profile_count, 1);
  for (int i = 0; i < 3; i++) advance(&o->w, 60000);
  assert_int_equal(map_count(&u->by_owner[LANE_OF_AGENT]), 0);
  assert_true(list_empty(&u->lanes));
}

// ---- the era

// Another connection, after the one before was closed.
static struct lane *next_common(struct lanes_world *o) {
  struct lane *lane = lanes_common(o->all->list[0]);
  lane_start(lane);
  return lane;
}

static void that_a_server_has_sessions_is_remembered_for_an_hour(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_common(o);
  is_asked(o, OPENED);
  lane_free(&lane);
  advance(&o->w, 3599 * 1000);
  lane = next_common(o);
  wait_state(o, lane, LANE_READY);
  is_asked(o, "initialize\n");
  lane_free(&lane);
  advance(&o->w, 3600 * 1000);
  o->stateless = true;
  lane = next_common(o);
  wait_state(o, lane, LANE_READY);
  is_asked(o, PROBED);
  lane_free(&lane);
  lane = next_common(o);
  wait_state(o, lane, LANE_READY);
  is_asked(o, PROBED);
}

static void it_is_forgotten_when_it_does_not_open_the_server(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_common(o);
  is_asked(o, OPENED);
  lane_free(&lane);
  o->stateless = true;
  lane = next_common(o);
  wait_state(o, lane, LANE_DOWN);
  is_asked(o, "initialize\n");
  advance(&o->w, 300);
  wait_state(o, lane, LANE_READY);
  is_asked(o, PROBED);
  assert_true(lane_stateless(lane));
}

static void the_era_may_be_configured(void **state) {
  struct lanes_world *o = *state;
  o->spec.protocol = UPSTREAM_PROTOCOL_HANDSHAKE;
  open_again(o);
  open_common(o);
  is_asked(o, "initialize\n");
  o->spec.protocol = UPSTREAM_PROTOCOL_STATELESS;
  open_again(o);
  struct session *a = new_client(o, SAMPLING);
  assert_null(lane_of(o, a)->session);  // it is known before it was asked
  wait_lane(o, 'a', a);
  wait_state(o, lane_of(o, a), LANE_DOWN);
  is_asked(o, PROBED);
  o->stateless = true;
  advance(&o->w, 300);
  wait_state(o, lane_of(o, a), LANE_READY);
  is_asked(o, PROBED);
}

// ---- what they have

static void extensions_are_those_of_any_lane_that_is_ready(void **state) {
  struct lanes_world *o = *state;
  o->capabilities = "{\"tools\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{},\"x\":7}}";
  assert_false(upstreams_extension(o->all, 0, STR("io.modelcontextprotocol/tasks")));
  open_common(o);
  assert_true(upstreams_extension(o->all, 0, STR("io.modelcontextprotocol/tasks")));
  assert_false(upstreams_extension(o->all, 0, STR("x")));
  assert_false(upstreams_extension(o->all, 0, STR("y")));
}

static void on_ping(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
}

static void ping(struct lanes_world *o, struct lane *lane, struct link_call *c) {
  *c = (struct link_call){.done = on_ping};
  link_call_begin(lane->link, c, 1000, 1000);
  link_call_send(c, STR("x/list"),
                 link_meta(lane->link).p ? STR("{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":0}}")
                                         : STR_NONE);
  for (uint64_t until = real_ms() + DEADLINE_MS; c->link;) turn(&o->w, -1, until);
}

static void a_stateless_server_that_was_out_of_reach_is_listed_again(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_common(o);
  struct link_call c;
  struct fault f;
  uint16_t port;
  int lists = o->lists;
  http_server_free(&o->w.server);
  some_turns(&o->w);
  ping(o, lane, &c);
  assert_true(lane->unreachable);
  o->w.server = http_server_new(&o->w.loop, &server_options, on_request, o);
  assert_true(http_server_listen(o->w.server, STR("127.0.0.1"), o->w.port, &port, &f));
  ping(o, lane, &c);
  assert_false(lane->unreachable);
  for (int i = 0; i < 50 && o->lists == lists; i++) advance(&o->w, 20);
  assert_int_equal(o->lists, lists + 1);
}

// ---- installations

// The server of these tests answers over HTTP; that a launcher has to install it first is all that counts here.
static void a_failed_installation_is_tried_again_after_minutes(void **state) {
  struct lanes_world *o = *state;
  struct upstream *u = o->all->list[0];
  static const uint64_t waits_s[] = {60, 120, 240, 480, 960, 1800, 1800};
  enum { TRIES = sizeof waits_s / sizeof *waits_s };
  u->launcher = UPSTREAM_LAUNCHER;
  o->refuse_opening = TRIES;
  upstreams_start(o->all);
  struct lane *lane = lane_of(o, new_client(o, "{}"));
  for (int i = 0; i < TRIES; i++) {
    wait_state(o, lane, LANE_DOWN);
    assert_int_equal(lane->retry_at - loop_now(&o->w.loop), waits_s[i] * 1000);
    assert_int_equal(u->install_failures, i + 1);
    advance(&o->w, waits_s[i] * 1000);
  }
  wait_state(o, lane, LANE_READY);
}

static void first_installations_come_before_those_that_failed(void **state) {
  struct lanes_world *o = *state;
  struct upstream fresh = *o->all->list[0], failed = fresh;
  struct lane runs = {.magic = LANE_MAGIC, .upstream = &fresh}, again = {.magic = LANE_MAGIC, .upstream = &failed};
  struct lane first = {.magic = LANE_MAGIC, .upstream = &fresh};
  struct lane second = {.magic = LANE_MAGIC, .upstream = &fresh};
  struct list *waiting = &o->all->installs.waiting;
  fresh.launcher = failed.launcher = UPSTREAM_LAUNCHER;
  failed.install_failures = 1;
  o->all->opt.cold_starts = 1;
  assert_true(install_enter(&runs));
  assert_false(install_enter(&again));
  assert_false(install_enter(&first));
  assert_false(install_enter(&second));
  struct lane *const order[] = {&first, &second, &again};
  for (size_t i = 0; i < 3; i++) assert_ptr_equal(list_pop(waiting), &order[i]->install);
  list_remove(&runs.install);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define STATELESS(name) cmocka_unit_test_setup_teardown(name, setup_stateless, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(clients_that_can_be_asked_have_lanes_of_their_own),
      STATELESS(a_stateless_server_has_one_lane_for_all),
      STATELESS(the_first_lane_to_a_stateless_server_becomes_the_common_one),
      STATELESS(another_lane_to_a_stateless_server_joins_the_common_one),
      STATELESS(the_common_lane_need_not_wait_when_another_finds_the_server_well),
      STATELESS(a_lane_that_a_question_names_is_kept_for_its_session),
      STATELESS(what_is_watched_on_a_lane_goes_with_its_clients_to_the_common_one),
      STATELESS(with_isolation_every_session_has_its_own),
      STATELESS(a_server_that_comes_back_with_sessions_gives_clients_their_own_again),
      TEST(every_agent_has_its_own_lane_which_its_clients_share),
      TEST(with_isolation_session_each_agent_of_a_session_has_its_own),
      TEST(credentials_that_are_no_agents_are_kept_apart),
      TEST(with_isolation_shared_all_agents_have_one),
      TEST(a_lane_that_was_opened_ahead_is_the_first_agents),
      TEST(what_was_opened_ahead_tells_how_an_agent_would_fare),
      TEST(the_name_of_an_agent_is_bounded),
      TEST(agents_that_only_look_need_one_connection_together),
      TEST(the_lane_used_longest_ago_makes_room),
      TEST(without_room_there_is_a_fault_that_says_when_to_try_again),
      TEST(a_principal_leaves_lanes_to_others_however_many_agents_it_names),
      TEST(beyond_its_share_a_principals_own_lanes_make_room),
      TEST(idle_lanes_of_the_principal_with_most_make_room_first),
      TEST(an_agent_sees_what_its_own_lane_lists),
      TEST(a_lane_that_is_new_tells_what_new_lanes_show),
      TEST(whatever_everybodys_lane_lists_is_everybodys),
      TEST(more_lists_than_are_kept_apart_are_left_out),
      TEST(an_agents_lane_that_nobody_uses_is_closed_and_opened_again),
      TEST(what_is_in_use_is_not_closed),
      TEST(a_server_that_may_be_at_work_on_a_task_is_not_closed),
      TEST(everybodys_lane_and_a_sessions_own_stay),
      TEST(unless_their_server_says_otherwise),
      TEST(a_thousand_agents_come_and_go_and_leave_nothing),
      TEST(that_a_server_has_sessions_is_remembered_for_an_hour),
      TEST(it_is_forgotten_when_it_does_not_open_the_server),
      TEST(the_era_may_be_configured),
      TEST(a_failed_installation_is_tried_again_after_minutes),
      TEST(first_installations_come_before_those_that_failed),
      STATELESS(extensions_are_those_of_any_lane_that_is_ready),
      STATELESS(a_stateless_server_that_was_out_of_reach_is_listed_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
