// SPDX-License-Identifier: Apache-2.0
// What an upstream is asked to tell of: by subscriptions where it has sessions, by a stream where it is stateless.
#include "lane_world.h"

struct options {
  struct watcher w;
  struct lanes_world *o;
  char name;
  // what to do when it is settled
  struct options *stop;  // another one
  struct options *again;
  struct lane *lane;
  bool free_all;
};

static void start(struct options *a, struct lane *lane, const char *uri);

static void on_options_settled(struct watcher *w, const struct rpc_message *refusal, const struct fault *f) {
  struct options *a = CONTAINER_OF(w, struct options, w);
  assert_true(!refusal || !f);
  assert_int_equal(watch_lane(w) != NULL, !refusal && !f);
  if (refusal) write_line(&a->o->heard, "%c refused %.*s", a->name, STR_ARG(json_span(refusal->error)));
  else if (f) write_line(&a->o->heard, "%c failed %s %s", a->name, fault_name(f->code), f->message);
  else write_line(&a->o->heard, "%c agreed", a->name);
  if (a->stop) watch_stop(&a->stop->w);
  if (a->again) start(a->again, a->lane, "a://1");
  if (a->free_all) upstreams_free(&a->o->all);
}

static struct options *options(struct lanes_world *o, char name) {
  struct options *a = ARENA_ARRAY(&o->arena, struct options, 1);
  *a = (struct options){.o = o, .name = name, .w = {.settled = on_options_settled}};
  return a;
}

static void start(struct options *a, struct lane *lane, const char *uri) {
  watch_start(lane, WATCH_RESOURCE, str_of(uri), &a->w);
}

static struct lane *open_with_session(struct lanes_world *o) {
  struct lane *lane = open_common(o);
  is_asked(o, OPENED);
  return lane;
}

#define SUBSCRIBE(uri) "resources/subscribe \"" uri "\"\n"
#define UNSUBSCRIBE(uri) "resources/unsubscribe \"" uri "\"\n"

// ---- servers with sessions

static void a_resource_is_subscribed_to_once_however_many_want_it(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b'), *c = options(o, 'c');
  start(a, lane, "a://\"1");
  start(b, lane, "a://\"1");
  is_asked(o, "resources/subscribe \"a://\\\"1\"\n");
  hears(o, "");
  answer(held(o, 0), "{}");
  hears(o, "a agreed\nb agreed\n");
  start(c, lane, "a://\"1");
  hears(o, "c agreed\n");
  watch_stop(&a->w);
  watch_stop(&a->w);
  watch_stop(&b->w);
  is_asked(o, "");
  watch_stop(&c->w);
  is_asked(o, "resources/unsubscribe \"a://\\\"1\"\n");
}

static void a_refusal_is_told_to_all_who_wait_and_the_next_may_try_again(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b'), *c = options(o, 'c');
  start(a, lane, "a://1");
  start(b, lane, "a://1");
  is_asked(o, SUBSCRIBE("a://1"));
  answer_error(held(o, 0), -32002);
  hears(o, "a refused {\"code\":-32002,\"message\":\"no\"}\nb refused {\"code\":-32002,\"message\":\"no\"}\n");
  is_asked(o, "");
  start(c, lane, "a://1");
  is_asked(o, SUBSCRIBE("a://1"));
  answer(held(o, 1), "{}");
  hears(o, "c agreed\n");
}

static void one_that_stops_is_not_told_any_more(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b'), *c = options(o, 'c');
  start(a, lane, "a://1");
  watch_stop(&a->w);  // it was never asked for
  is_asked(o, "");
  start(a, lane, "a://1");
  start(b, lane, "a://1");
  start(c, lane, "a://1");
  is_asked(o, SUBSCRIBE("a://1"));
  watch_stop(&a->w);
  b->stop = c;
  answer(held(o, 0), "{}");
  hears(o, "b agreed\n");
}

static void who_comes_back_while_it_is_unsubscribed_waits_for_that(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  start(a, lane, "a://1");
  is_asked(o, SUBSCRIBE("a://1"));
  watch_stop(&a->w);
  is_asked(o, "");  // not before it was answered
  answer(held(o, 0), "{}");
  is_asked(o, UNSUBSCRIBE("a://1"));
  start(b, lane, "a://1");
  is_asked(o, "");
  answer(held(o, 1), "{}");
  is_asked(o, SUBSCRIBE("a://1"));
  answer(held(o, 2), "{}");
  hears(o, "b agreed\n");
}

// The server forgets the session; its next answer is 404.
static void lose_session(struct held *h) {
  struct http_exchange *x = h->x;
  h->x = NULL;
  http_reply(x, 404, STR_NONE, STR_NONE, STR_NONE);
}

static void a_lane_that_comes_up_again_subscribes_anew(void **state) {
  struct lanes_world *o = *state;
  o->session = "s1";
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  start(a, lane, "a://1");
  is_asked(o, SUBSCRIBE("a://1"));
  answer(held(o, 0), "{}");
  hears(o, "a agreed\n");
  advance(&o->w, 2000);
  start(b, lane, "a://2");
  is_asked(o, SUBSCRIBE("a://2"));
  lose_session(held(o, 1));
  is_asked(o, "initialize\n" SUBSCRIBE("a://1") SUBSCRIBE("a://2"));
  answer_error(held(o, 2), -32002);  // it has agreed once: nobody is told, and it is not asked again
  answer(held(o, 3), "{}");
  hears(o, "b agreed\n");
  is_asked(o, "");
}

static void a_lane_that_goes_down_fails_those_who_wait(void **state) {
  struct lanes_world *o = *state;
  o->session = "s1";
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  start(a, lane, "a://1");
  answer(held(o, 0), "{}");
  hears(o, "a agreed\n");
  start(b, lane, "a://2");
  lose_session(held(o, 1));  // so soon that it is not well
  hears(o, "b failed UPSTREAM_SESSION_LOST has ended its session with the gateway\n");
  assert_int_equal(lane->state, LANE_DOWN);
  start(b, lane, "a://3");
  hears(o, "b failed UPSTREAM_UNAVAILABLE is not connected\n");
  buf_reset(&o->asked);
  advance(&o->w, 300);
  is_asked(o, "initialize\n" SUBSCRIBE("a://1"));
  assert_ptr_equal(watch_lane(&a->w), lane);
}

static void tasks_are_not_watched_where_there_are_sessions(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a');
  watch_start(lane, WATCH_TASK, STR("t1"), &a->w);
  hears(o, "a failed UPSTREAM_ERROR does not accept subscriptions to tasks\n");
  is_asked(o, "");
}

static void one_principal_cannot_use_all_subscriptions_of_a_shared_lane(void **state) {
  enum { MANY = 4096 };
  struct lanes_world *o = *state;
  o->agrees = true;
  struct lane *lane = open_with_session(o);
  struct watcher *many = mem_zero(MANY * sizeof *many);
  char uri[32];
  int taken = 0;
  for (int i = 0; i < MANY; i++) {
    snprintf(uri, sizeof uri, "a://%d", i);
    many[i].payer = STR("one");
    watch_start(lane, WATCH_RESOURCE, str_of(uri), &many[i]);
    if (many[i].watch) taken++;
  }
  assert_int_equal(taken, MANY / 2);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  a->w.payer = STR("one");
  b->w.payer = STR("two");
  start(a, lane, "b://1");
  hears(o, "a failed LIMIT already has the maximum number of subscriptions (2048)\n");
  start(b, lane, "b://1");
  assert_non_null(b->w.watch);
  watch_stop(&b->w);
  upstreams_free(&o->all);
  mem_free(many);
}

static void what_one_lane_watches_is_bounded(void **state) {
  enum { MAX = 4096 };
  struct lanes_world *o = *state;
  o->agrees = true;
  struct lane *lane = open_with_session(o);
  struct watcher *many = mem_zero(MAX * sizeof *many);
  char uri[32];
  for (int i = 0; i < MAX; i++) {
    snprintf(uri, sizeof uri, "a://%d", i);
    watch_start(lane, WATCH_RESOURCE, str_of(uri), &many[i]);
  }
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  start(a, lane, "b://1");
  hears(o, "a failed LIMIT already has the maximum number of subscriptions (4096)\n");
  start(b, lane, "a://7");
  hears(o, "b agreed\n");
  upstreams_free(&o->all);
  for (int i = 0; i < MAX; i++) assert_null(many[i].watch);
  mem_free(many);
}

static void all_may_be_freed_by_one_that_is_told(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b'), *c = options(o, 'c');
  a->free_all = true;
  start(a, lane, "a://1");
  start(b, lane, "a://1");
  start(c, lane, "a://2");
  answer(held(o, 0), "{}");
  hears(o, "a agreed\n");
  assert_null(o->all);
  assert_null(a->w.watch);
  assert_null(b->w.watch);
  assert_null(c->w.watch);
  watch_stop(&b->w);
}

static void one_that_is_refused_may_try_again_at_once(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_with_session(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  a->again = b;
  a->lane = lane;
  start(a, lane, "a://1");
  is_asked(o, SUBSCRIBE("a://1"));
  answer_error(held(o, 0), -32002);
  hears(o, "a refused {\"code\":-32002,\"message\":\"no\"}\n");
  is_asked(o, SUBSCRIBE("a://1"));
  answer(held(o, 1), "{}");
  hears(o, "b agreed\n");
}

// ---- stateless servers

#define CHANGES "{\"tools\":{\"listChanged\":true},\"prompts\":{},\"resources\":{\"subscribe\":true}}"
#define LISTEN(what) "subscriptions/listen {" what "}\n"
#define TOOLS "\"toolsListChanged\":true"
#define RESOURCES(list) "\"resourceSubscriptions\":[" list "]"

// A lane whose server tells of its tools, and the stream for that: held(o, 0).
static struct lane *open_listening(struct lanes_world *o) {
  o->capabilities = CHANGES;
  struct lane *lane = open_common(o);
  is_asked(o, PROBED LISTEN(TOOLS));
  acknowledge(held(o, 0), "{" TOOLS "}");
  some_turns(&o->w);
  return lane;
}

// The stream was let go of; nothing else has happened.
static void is_ended(struct lanes_world *o, int index) {
  char want[32];
  advance(&o->w, 20);
  snprintf(want, sizeof want, "end of stream %d\n", index);
  is_asked(o, want);
}

static struct lane *open_silent(struct lanes_world *o) {
  struct lane *lane = open_common(o);
  is_asked(o, PROBED);
  return lane;
}

static void a_stream_is_opened_when_a_server_tells_of_its_lists(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_listening(o);
  int lists = o->lists;
  say(held(o, 0), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{" TAGGED "}}",
      o->held[0].id);
  for (int i = 0; i < 50 && o->lists == lists; i++) advance(&o->w, 20);
  assert_int_equal(o->lists, lists + 1);
  assert_true(lane_stateless(lane));
  hears(o, "");
  advance(&o->w, 3600 * 1000);  // it stays open, and no other is opened
  is_asked(o, "");
}

static void without_anything_to_hear_of_there_is_no_stream(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_silent(o);
  advance(&o->w, 60000);
  is_asked(o, "");
  struct options *a = options(o, 'a');
  start(a, lane, "a://1");
  is_asked(o, LISTEN(RESOURCES("\"a://1\"")));
  acknowledge(held(o, 0), "{" RESOURCES("\"a:\\/\\/1\"") "}");
  hears(o, "a agreed\n");
  watch_stop(&a->w);
  is_ended(o, 0);
}

static void wishes_that_come_together_are_one_stream(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_silent(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b'), *c = options(o, 'c');
  start(a, lane, "a://1");
  start(b, lane, "a://2");
  watch_start(lane, WATCH_TASK, STR("t1"), &c->w);
  is_asked(o, LISTEN(RESOURCES("\"a://1\",\"a://2\"") ",\"taskIds\":[\"t1\"]"));
  acknowledge(held(o, 0), "{" RESOURCES("\"a://2\",\"a://7\"") ",\"taskIds\":[\"t1\"]}");
  hears(o, "a failed UPSTREAM_ERROR does not accept subscriptions to this resource or task\nb agreed\nc agreed\n");
  is_asked(o, "");  // what was not agreed to is not asked for again
  start(a, lane, "a://1");
  is_asked(o, LISTEN(RESOURCES("\"a://2\",\"a://1\"") ",\"taskIds\":[\"t1\"]"));
}

static void what_is_told_goes_on_and_is_nobodys_call(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_silent(o);
  struct options *a = options(o, 'a');
  start(a, lane, "a://1");
  acknowledge(held(o, 0), "{" RESOURCES("\"a://1\"") "}");
  say(held(o, 0),
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"a://1\"," TAGGED "}}",
      o->held[0].id);
  say(held(o, 0), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{\"taskId\":\"t\"," TAGGED "}}",
      o->held[0].id);
  acknowledge(held(o, 0), "{}");  // a second one says nothing
  hears(o, "a agreed\ntold notifications/resources/updated \"a://1\"\ntold notifications/tasks\n");
}

static void a_stream_is_replaced_when_the_next_is_acknowledged(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_listening(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b'), *c = options(o, 'c');
  start(a, lane, "a://1");
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
  start(b, lane, "a://2");
  start(c, lane, "a://1");
  is_asked(o, "");  // one at a time
  acknowledge(held(o, 1), "{" TOOLS "," RESOURCES("\"a://1\"") "}");
  hears(o, "a agreed\nc agreed\n");
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\",\"a://2\"")));
  is_ended(o, 0);
  acknowledge(held(o, 2), "{" TOOLS "," RESOURCES("\"a://1\",\"a://2\"") "}");
  hears(o, "b agreed\n");
  is_ended(o, 1);
  watch_stop(&a->w);
  is_asked(o, "");
  watch_stop(&c->w);
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://2\"")));
  acknowledge(held(o, 3), "{" TOOLS "," RESOURCES("\"a://2\"") "}");
  is_ended(o, 2);
}

static void a_stream_that_ends_is_opened_again_with_growing_delay(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_listening(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  start(a, lane, "a://1");
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
  acknowledge(held(o, 1), "{" TOOLS "," RESOURCES("\"a://1\"") "}");
  hears(o, "a agreed\n");
  is_ended(o, 0);
  int lists = o->lists;
  end_stream(held(o, 1));
  advance(&o->w, 900);
  is_asked(o, "");
  advance(&o->w, 200);
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
  acknowledge(held(o, 2), "{" TOOLS "," RESOURCES("\"a://1\"") "}");
  for (int i = 0; i < 50 && o->lists == lists; i++) advance(&o->w, 20);
  assert_int_equal(o->lists, lists + 1);  // what changed meanwhile went unheard
  http_exchange_drop(o->held[2].x);
  some_turns(&o->w);
  advance(&o->w, 1500);
  is_asked(o, "");
  advance(&o->w, 700);
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
  answer_error(held(o, 3), -32603);
  advance(&o->w, 3500);
  is_asked(o, "");
  start(b, lane, "a://1");  // somebody waits: at once
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
  acknowledge(held(o, 4), "{" TOOLS "," RESOURCES("\"a://1\"") "}");
  hears(o, "b agreed\n");
  advance(&o->w, 60000);
  is_asked(o, "");
  end_stream(held(o, 4));  // it was stable
  advance(&o->w, 1100);
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
}

static void a_server_that_does_not_know_it_is_asked_again_only_for_something_new(void **state) {
  static const int codes[] = {-32601, -32602};
  struct lanes_world *o = *state;
  struct lane *lane = open_silent(o);
  for (int i = 0; i < 2; i++) {
    struct options *a = options(o, 'a');
    start(a, lane, "a://1");
    is_asked(o, LISTEN(RESOURCES("\"a://1\"")));
    char want[64];
    snprintf(want, sizeof want, "a refused {\"code\":%d,\"message\":\"no\"}\n", codes[i]);
    answer_error(held(o, i), codes[i]);
    hears(o, want);
    advance(&o->w, 120000);
    is_asked(o, "");
  }
}

static void a_stream_of_nothing_is_not_opened_again(void **state) {
  struct lanes_world *o = *state;
  o->capabilities = CHANGES;
  struct lane *lane = open_common(o);
  is_asked(o, PROBED LISTEN(TOOLS));
  acknowledge(held(o, 0), "{}");
  end_stream(held(o, 0));
  advance(&o->w, 120000);
  is_asked(o, "");
  struct options *a = options(o, 'a');
  start(a, lane, "a://1");
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
  acknowledge(held(o, 1), "{\"toolsListChanged\":false}");
  end_stream(held(o, 1));
  hears(o, "a failed UPSTREAM_ERROR does not accept subscriptions to this resource or task\n");
  advance(&o->w, 120000);
  is_asked(o, "");
}

static void an_acknowledgement_that_does_not_come_fails_those_who_wait(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_listening(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  start(a, lane, "a://1");
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://1\"")));
  advance(&o->w, 29000);
  hears(o, "");
  advance(&o->w, 1100);
  hears(o, "a failed UPSTREAM_TIMEOUT did not acknowledge subscriptions/listen within 30 s\n");
  is_ended(o, 1);
  advance(&o->w, 60000);
  is_asked(o, "");  // the old stream tells of all that is wanted
  start(b, lane, "a://2");
  is_asked(o, LISTEN(TOOLS "," RESOURCES("\"a://2\"")));
  answer(held(o, 2), "{}");
  hears(o, "b failed UPSTREAM_UNAVAILABLE has ended its stream of notifications\n");
}

static void streams_go_with_their_lane(void **state) {
  struct lanes_world *o = *state;
  struct lane *lane = open_listening(o);
  struct options *a = options(o, 'a'), *b = options(o, 'b');
  a->free_all = true;
  start(a, lane, "a://1");
  start(b, lane, "a://2");
  acknowledge(held(o, 1), "{" TOOLS "," RESOURCES("\"a://1\",\"a://2\"") "}");
  hears(o, "a agreed\n");
  assert_null(b->w.watch);
  for (uint64_t until = real_ms() + DEADLINE_MS; !o->held[0].aborted || !o->held[1].aborted;) turn(&o->w, -1, until);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define STATELESS(name) cmocka_unit_test_setup_teardown(name, setup_stateless, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_resource_is_subscribed_to_once_however_many_want_it),
      TEST(a_refusal_is_told_to_all_who_wait_and_the_next_may_try_again),
      TEST(one_that_stops_is_not_told_any_more),
      TEST(who_comes_back_while_it_is_unsubscribed_waits_for_that),
      TEST(a_lane_that_comes_up_again_subscribes_anew),
      TEST(a_lane_that_goes_down_fails_those_who_wait),
      TEST(tasks_are_not_watched_where_there_are_sessions),
      TEST(what_one_lane_watches_is_bounded),
      TEST(one_principal_cannot_use_all_subscriptions_of_a_shared_lane),
      TEST(all_may_be_freed_by_one_that_is_told),
      TEST(one_that_is_refused_may_try_again_at_once),
      STATELESS(a_stream_is_opened_when_a_server_tells_of_its_lists),
      STATELESS(without_anything_to_hear_of_there_is_no_stream),
      STATELESS(wishes_that_come_together_are_one_stream),
      STATELESS(what_is_told_goes_on_and_is_nobodys_call),
      STATELESS(a_stream_is_replaced_when_the_next_is_acknowledged),
      STATELESS(a_stream_that_ends_is_opened_again_with_growing_delay),
      STATELESS(a_server_that_does_not_know_it_is_asked_again_only_for_something_new),
      STATELESS(a_stream_of_nothing_is_not_opened_again),
      STATELESS(an_acknowledgement_that_does_not_come_fails_those_who_wait),
      STATELESS(streams_go_with_their_lane),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
