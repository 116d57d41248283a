// SPDX-License-Identifier: Apache-2.0
// A call ends early at every point where it can wait: its client cancels it, the session of its client ends, its
// deadline passes, or its server is lost. Afterwards nothing of it is left, and its server works for nobody.
#include "gateway_world.h"

#define ANYTHING "'inputSchema':{'type':'object'}"

// How a call ends.
enum ending { BY_CLIENT, BY_SESSION, BY_DEADLINE, ENDINGS };

// A call that waits, and what there was before it.
struct scene {
  struct world *w;
  struct server *shop;
  struct agent *a;
  uint64_t id;
  size_t timers;
};

static struct server *a_shop(struct world *w, const char *members) {
  struct server *s = serves(w, "shop", members);
  has_tool(s, "{'name':'find'," ANYTHING ",'annotations':{'readOnlyHint':true}}");
  has_tool(s, "{'name':'order'," ANYTHING "}");
  return s;
}

static struct agent *another(struct world *w) {
  return arrives(w, MODE_GATEWAY);
}

enum { DEADLINE_OF_CALLS = 700 };

// Calls with a deadline, so that all three endings can come.
static uint64_t waits_in(struct scene *x, const char *what) {
  uint64_t id = begins_with(x->a, what, "{}", "'timeout_ms':700");
  assert_false(is_answered(x->a, id));
  return id;
}

static void end_early(struct scene *x, enum ending how) {
  if (how == BY_CLIENT) cancels(x->a, x->id);
  if (how == BY_SESSION) leaves(x->a);
  if (how == BY_DEADLINE) pass(x->w, DEADLINE_OF_CALLS + 2 * TIMER_TICK_MS);
  turn(x->w);
}

// The client hears of a deadline, and of nothing else.
static void expect_ended(struct scene *x, enum ending how) {
  struct world *w = x->w;
  if (how == BY_DEADLINE) expect_fault(hears(x->a, x->id), "UPSTREAM_TIMEOUT");
  else assert_false(is_answered(x->a, x->id));
  expect_nothing_left(w);
}

static void expect_no_timers(struct scene *x, enum ending how) {
  if (timers(x->w) != x->timers) fail_msg("%zu timers instead of %zu (%d)", timers(x->w), x->timers, how);
}

// ---- find: a server that is starting may have the tool

static void ends_in_find(struct world *w, enum ending how) {
  struct scene x = {.w = w, .shop = a_shop(w, NULL)};
  x.shop->starts_slowly = true;
  x.a = arrives(w, MODE_DIRECT);
  x.timers = timers(w);
  x.id = begins_with(x.a, "shop:order", "{}", "'_meta':{'toolgate/timeoutMs':700}");
  assert_int_equal(timers(w), x.timers + 2);  // the deadline, and the wait for servers
  end_early(&x, how);
  expect_ended(&x, how);
  if (how != BY_SESSION) expect_no_timers(&x, how);
  opens(x.shop);
  expect_called(x.shop, "");
}

static void a_call_that_looks_for_its_tool_is_cancelled(void **state) {
  ends_in_find(*state, BY_CLIENT);
}
static void a_call_that_looks_for_its_tool_ends_with_its_session(void **state) {
  ends_in_find(*state, BY_SESSION);
}
static void a_call_that_looks_for_its_tool_ends_at_its_deadline(void **state) {
  ends_in_find(*state, BY_DEADLINE);
}

// ---- connect: the connection is being opened again

static void ends_in_connect(struct world *w, enum ending how) {
  struct scene x = {.w = w, .shop = a_shop(w, NULL)};
  x.a = arrives(w, MODE_GATEWAY);
  x.shop->starts_slowly = true;
  ends(x.shop);
  pass(w, 300);
  x.timers = timers(w);
  x.id = waits_in(&x, "shop:order");
  assert_int_equal(timers(w), x.timers + 2);  // the deadline, and the time to connect
  end_early(&x, how);
  expect_ended(&x, how);
  expect_no_timers(&x, how);
  opens(x.shop);
  expect_called(x.shop, "");
  expect_text(calls(another(w), "shop:order", "{}"), "ok");
}

static void a_call_that_waits_for_its_connection_is_cancelled(void **state) {
  ends_in_connect(*state, BY_CLIENT);
}
static void a_call_that_waits_for_its_connection_ends_with_its_session(void **state) {
  ends_in_connect(*state, BY_SESSION);
}
static void a_call_that_waits_for_its_connection_ends_at_its_deadline(void **state) {
  ends_in_connect(*state, BY_DEADLINE);
}

// ---- turn: others use the connection

static void ends_in_turn(struct world *w, enum ending how) {
  struct scene x = {.w = w, .shop = a_shop(w, "'maxInFlight':1")};
  struct agent *first = another(w);
  x.a = arrives(w, MODE_GATEWAY);
  holds(x.shop);
  uint64_t before = begins(first, "shop:order", "{'n':1}");
  x.timers = timers(w);
  x.id = waits_in(&x, "shop:order");
  assert_int_equal(timers(w), x.timers + 2);  // the deadline, and the time to wait for a turn
  end_early(&x, how);
  if (how == BY_DEADLINE) expect_fault(hears(x.a, x.id), "UPSTREAM_TIMEOUT");
  else assert_false(is_answered(x.a, x.id));
  expect_no_timers(&x, how);
  // The queue goes on without it.
  uint64_t after = begins(first, "shop:order", "{'n':2}");
  releases(x.shop, "done");
  expect_text(hears(first, before), "done");
  expect_text(hears(first, after), "ok");
  expect_called(x.shop, "order {'n':1}\norder {'n':2}\n");
  expect_nothing_left(w);
}

static void a_call_that_waits_for_its_turn_is_cancelled(void **state) {
  ends_in_turn(*state, BY_CLIENT);
}
static void a_call_that_waits_for_its_turn_ends_with_its_session(void **state) {
  ends_in_turn(*state, BY_SESSION);
}
static void a_call_that_waits_for_its_turn_ends_at_its_deadline(void **state) {
  ends_in_turn(*state, BY_DEADLINE);
}

// ---- dispatch: its server is at work

static void ends_in_dispatch(struct world *w, enum ending how) {
  struct scene x = {.w = w, .shop = a_shop(w, "'maxInFlight':1")};
  x.a = arrives(w, MODE_GATEWAY);
  expect_text(calls(x.a, "shop:order", "{}"), "ok");
  expect_called(x.shop, "order {}\n");
  x.timers = timers(w);
  holds(x.shop);
  x.id = waits_in(&x, "shop:order");
  assert_true(timers(w) > x.timers);
  end_early(&x, how);
  expect_ended(&x, how);
  expect_no_timers(&x, how);
  expect_called(x.shop, "order {}\ncancelled order\n");
  // Its place on the connection is free.
  expect_text(calls(another(w), "shop:order", "{}"), "ok");
}

static void a_call_that_is_under_way_is_cancelled_at_its_server(void **state) {
  ends_in_dispatch(*state, BY_CLIENT);
}
static void a_call_that_is_under_way_ends_with_its_session(void **state) {
  ends_in_dispatch(*state, BY_SESSION);
}
static void a_call_that_is_under_way_ends_at_its_deadline(void **state) {
  ends_in_dispatch(*state, BY_DEADLINE);
}

// ---- retry: the next attempt comes later

static void ends_in_retry(struct world *w, enum ending how) {
  given(w, "timeouts: {request: 0.1}\nretry: {max_attempts: 5, base_delay: 0.5, max_delay: 5}\n");
  struct scene x = {.w = w, .shop = a_shop(w, NULL)};
  x.a = arrives(w, MODE_GATEWAY);
  x.timers = timers(w);
  holds(x.shop);
  holds(x.shop);
  x.id = waits_in(&x, "shop:find");
  pass(w, 150);  // the first attempt has timed out; the second would begin after 600 ms
  expect_called(x.shop, "find {}\ncancelled find\n");
  assert_int_equal(timers(w), x.timers + 2);  // the deadline, and the time until the next attempt
  end_early(&x, how);
  expect_ended(&x, how);
  expect_no_timers(&x, how);
  pass(w, 2000);
  expect_called(x.shop, how == BY_DEADLINE ? "find {}\ncancelled find\n" : "");
}

static void a_call_that_is_to_be_made_again_is_cancelled(void **state) {
  ends_in_retry(*state, BY_CLIENT);
}
static void a_call_that_is_to_be_made_again_ends_with_its_session(void **state) {
  ends_in_retry(*state, BY_SESSION);
}
static void a_call_that_is_to_be_made_again_ends_at_its_deadline(void **state) {
  ends_in_retry(*state, BY_DEADLINE);
}

static void a_deadline_comes_before_the_next_attempt(void **state) {
  struct world *w = *state;
  given(w, "timeouts: {request: 0.1}\nretry: {max_attempts: 5, base_delay: 5, max_delay: 5}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  holds(shop);
  uint64_t id = begins_with(a, "shop:find", "{}", "'timeout_ms':700");
  pass(w, 130);
  expect_fault(hears(a, id), "UPSTREAM_TIMEOUT");  // 5 seconds do not fit, so nobody waits for them
  expect_called(shop, "find {}\ncancelled find\n");
}

// ---- store: what the answer names is being written

// A result so long that a part of it is kept.
static const char *long_text(struct world *w) {
  struct buf b;
  buf_init(&b, 1 << 20);
  for (int i = 0; i < 2000; i++) buf_printf(&b, "line %d of the list\n", i);
  const char *text = arena_cstr(&w->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// The store reports from the loop, so the call waits for it until the loop turns, however fast the writer's thread is.
static void ends_in_store(struct world *w, enum ending how) {
  struct scene x = {.w = w, .shop = a_shop(w, NULL)};
  x.a = arrives(w, MODE_GATEWAY);
  x.timers = timers(w);
  holds(x.shop);
  x.id = waits_in(&x, "shop:order");
  adapter_text(take_held(x.shop, 0), str_of(long_text(w)), false);  // without a turn of the loop
  assert_int_equal(x.a->session->in_flight, 1);
  assert_false(is_answered(x.a, x.id));
  expect_no_timers(&x, how);  // the deadline is over: the server has answered
  if (how == BY_CLIENT) cancels(x.a, x.id);
  else leaves(x.a);
  assert_false(is_answered(x.a, x.id));
  expect_nothing_left(w);
  expect_called(x.shop, "order {}\n");
}

static void a_call_whose_result_is_being_kept_is_cancelled(void **state) {
  ends_in_store(*state, BY_CLIENT);
}
static void a_call_whose_result_is_being_kept_ends_with_its_session(void **state) {
  ends_in_store(*state, BY_SESSION);
}

static void a_call_whose_result_is_being_kept_has_no_deadline(void **state) {
  struct world *w = *state;
  struct scene x = {.w = w, .shop = a_shop(w, NULL)};
  x.a = arrives(w, MODE_GATEWAY);
  holds(x.shop);
  x.id = waits_in(&x, "shop:order");
  adapter_text(take_held(x.shop, 0), str_of(long_text(w)), false);
  w->now += 10 * DEADLINE_OF_CALLS;
  w->gateway.loop.now_known = false;
  timer_run_due(&w->gateway.loop);
  expect_text(hears(x.a, x.id), "line 0 of the list");
}

// ---- asks: the client is asked something meanwhile

#define QUESTION "{'jsonrpc':'2.0','id':'q','method':'elicitation/create','params':{'message':'how many?'}}"

static struct agent *askable(struct world *w) {
  return enters(w, (struct client_identity){.principal = -1, .mode = MODE_DIRECT}, "{'elicitation':{}}");
}

static void answer_question(struct agent *a) {
  struct world *w = a->world;
  str id = member(w, heard(a, "elicitation/create"), "id");
  agent_post(
      a, arena_printf(&w->arena, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"action\":\"decline\"}}", STR_ARG(id)));
}

static uint64_t is_asked_during_a_call(struct agent *a, struct server *shop) {
  struct world *w = a->world;
  holds(shop);
  uint64_t id = begins(a, "shop:order", "{}");
  says(shop, QUESTION);
  expect_part(heard(a, "elicitation/create"), "how many?");
  return id;
}

// On a pipe nobody can tell which call a question belongs to, so that it stays open.
static void a_call_during_which_its_client_is_asked_is_cancelled(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = askable(w);
  uint64_t id = is_asked_during_a_call(a, shop);
  cancels(a, id);
  assert_false(is_answered(a, id));
  expect_called(shop, "order {}\ncancelled order\n");
  answer_question(a);
  expect_nothing_left(w);
}

static void a_call_during_which_its_client_is_asked_ends_with_its_session(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = askable(w);
  uint64_t id = is_asked_during_a_call(a, shop);
  leaves(a);
  assert_false(is_answered(a, id));
  expect_called(shop, "order {}\ncancelled order\n");
  expect_nothing_left(w);
}

static void the_time_of_a_call_does_not_run_while_its_client_is_asked(void **state) {
  struct world *w = *state;
  given(w, "timeouts: {request: 2}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = askable(w);
  holds(shop);
  uint64_t id = begins_with(a, "shop:order", "{}", "'_meta':{'toolgate/timeoutMs':1000}");
  pass(w, 500);
  says(shop, QUESTION);
  pass(w, 60000);
  assert_false(is_answered(a, id));
  answer_question(a);
  pass(w, 400);
  assert_false(is_answered(a, id));
  pass(w, 200);
  expect_fault(hears(a, id), "UPSTREAM_TIMEOUT");
  expect_called(shop, "order {}\ncancelled order\n");
}

// ---- a list that waits for servers

static void a_list_that_waits_for_servers_is_cancelled(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  shop->starts_slowly = true;
  struct agent *a = arrives(w, MODE_DIRECT), *b = arrives(w, MODE_DIRECT);
  size_t before = timers(w);
  uint64_t of_a = sends(a, "tools/list", NULL), of_b = sends(b, "tools/list", NULL);
  assert_false(is_answered(a, of_a) || is_answered(b, of_b));
  cancels(a, of_a);
  leaves(b);
  expect_nothing_left(w);
  assert_int_equal(timers(w), before);
  opens(shop);
  assert_false(is_answered(a, of_a));
}

// ---- what else a cancellation may meet

static void a_cancellation_that_crosses_the_answer_does_nothing(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  uint64_t id = begins(a, "shop:order", "{}");
  expect_text(hears(a, id), "ok");
  cancels(a, id);
  cancels(a, 999);
  expect_called(shop, "order {}\n");
  expect_text(calls(a, "shop:order", "{}"), "ok");
}

static void one_call_of_several_is_cancelled_and_the_others_go_on(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_SERVERS);
  for (int i = 0; i < 3; i++) holds(shop);
  uint64_t first = begins(a, "shop:order", "{'n':1}"), second = begins(a, "shop:find", "{}"),
           third = begins(a, "shop:order", "{'n':3}");
  cancels(a, second);
  expect_called(shop, "order {'n':1}\nfind {}\norder {'n':3}\ncancelled find\n");
  releases(shop, "one");
  releases(shop, "three");
  expect_text(hears(a, first), "one");
  expect_text(hears(a, third), "three");
  assert_false(is_answered(a, second));
}

static void when_the_server_is_lost_every_call_on_it_ends(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "'maxInFlight':2");
  struct agent *a = arrives(w, MODE_GATEWAY), *b = arrives(w, MODE_DIRECT);
  for (int i = 0; i < 2; i++) holds(shop);
  uint64_t first = begins(a, "shop:order", "{}"), second = begins(b, "shop:order", "{}"),
           third = begins(a, "shop:order", "{}");
  size_t before = timers(w);
  ends(shop);
  expect_fault(hears(a, first), "UPSTREAM_UNAVAILABLE");
  expect_fault(hears(b, second), "UPSTREAM_UNAVAILABLE");
  expect_fault(hears(a, third), "UPSTREAM_UNAVAILABLE");
  expect_nothing_left(w);
  assert_true(timers(w) < before);
}

static void a_gateway_that_stops_cancels_what_is_under_way(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "'maxInFlight':1");
  struct agent *a = arrives(w, MODE_GATEWAY);
  holds(shop);
  begins(a, "shop:order", "{}");
  begins(a, "shop:order", "{}");
  // The teardown closes the session, checks that nothing is left, and stops the gateway.
}

int main(void) {
#define TEST(name) IN_A_WORLD(name)
  const struct CMUnitTest tests[] = {
      TEST(a_call_that_looks_for_its_tool_is_cancelled),
      TEST(a_call_that_looks_for_its_tool_ends_with_its_session),
      TEST(a_call_that_looks_for_its_tool_ends_at_its_deadline),
      TEST(a_call_that_waits_for_its_connection_is_cancelled),
      TEST(a_call_that_waits_for_its_connection_ends_with_its_session),
      TEST(a_call_that_waits_for_its_connection_ends_at_its_deadline),
      TEST(a_call_that_waits_for_its_turn_is_cancelled),
      TEST(a_call_that_waits_for_its_turn_ends_with_its_session),
      TEST(a_call_that_waits_for_its_turn_ends_at_its_deadline),
      TEST(a_call_that_is_under_way_is_cancelled_at_its_server),
      TEST(a_call_that_is_under_way_ends_with_its_session),
      TEST(a_call_that_is_under_way_ends_at_its_deadline),
      TEST(a_call_that_is_to_be_made_again_is_cancelled),
      TEST(a_call_that_is_to_be_made_again_ends_with_its_session),
      TEST(a_call_that_is_to_be_made_again_ends_at_its_deadline),
      TEST(a_deadline_comes_before_the_next_attempt),
      TEST(a_call_whose_result_is_being_kept_is_cancelled),
      TEST(a_call_whose_result_is_being_kept_ends_with_its_session),
      TEST(a_call_whose_result_is_being_kept_has_no_deadline),
      TEST(a_call_during_which_its_client_is_asked_is_cancelled),
      TEST(a_call_during_which_its_client_is_asked_ends_with_its_session),
      TEST(the_time_of_a_call_does_not_run_while_its_client_is_asked),
      TEST(a_list_that_waits_for_servers_is_cancelled),
      TEST(a_cancellation_that_crosses_the_answer_does_nothing),
      TEST(one_call_of_several_is_cancelled_and_the_others_go_on),
      TEST(when_the_server_is_lost_every_call_on_it_ends),
      TEST(a_gateway_that_stops_cancels_what_is_under_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
