// SPDX-License-Identifier: Apache-2.0
// call/tasks: whose tasks are whose, and for how long. Calls are made up; a link writes down what it is given.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "call/bridge/tasks.h"
#include "mcp/client/link_impl.h"
#include "upstream/upstream_impl.h"

enum { MAX_TASKS = 10000, MAX_HELD = 64 << 20, WAIT_MS = 5000 };

struct fixture {
  uint64_t now;
  int64_t wall;
  struct clock clock;
  struct log log;
  struct loop loop;
  struct mcp_server server;
  struct session *a, *b, *stateless, *stateless_too, *other_principal;
  struct upstreams all;
  struct upstream upstreams[2];
  struct lane lanes[2];
  struct link *link;
  struct buf scratch, out;
  struct tasks tasks;
  struct call_context context;
};

// ---- a link that writes down what it is given

static void transport_open(struct link *l) {
}
static void transport_send(struct link *l, str message, struct link_call *call, str method) {
  struct fixture *x = l->transport;
  buf_printf(&x->out, "link %.*s\n", STR_ARG(message));
}
static void transport_confirm(struct link *l, str message) {
}
static void transport_forget(struct link *l, struct link_call *call, bool answered) {
}
static void transport_flow(struct link *l, bool go) {
}
static void transport_close(struct link *l) {
}

static const struct link_transport transport = {
    false, transport_open, transport_send, transport_confirm, transport_forget, transport_flow, transport_close, NULL};

static void link_closed(void *ctx, struct link *l, const struct fault *f) {
}

static void open_link(struct fixture *x) {
  static const struct link_events events = {.closed = link_closed};
  struct link_options opt = {.loop = &x->loop, .scratch = &x->scratch, .name = STR("up"), .max_message = 1 << 20};
  x->link = link_new(&opt, &transport, x, &events, x);
  x->link->state = LINK_READY;
  x->link->revision = mcp_revision_latest();
  x->lanes[0].link = x->link;
}

// ---- sessions

static const struct rulebook no_rules;

static void outlet_send(struct session *s, struct request *related, str message) {
  struct fixture *x = s->channel;
  const char *who = s == x->a ? "a" : s == x->b ? "b" : "stateless";
  assert_null(related);
  buf_printf(&x->out, "%s %.*s\n", who, STR_ARG(message));
}

static void outlet_answer(struct request *r, struct payload message) {
}

static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

static void closed(void *ctx, struct session *s) {
}
static const struct surface_ops surface = {.closed = closed};

static struct session *open_session(struct fixture *x, int principal, bool stateless) {
  struct session *s = session_new(
      &x->server, &outlet, x,
      (struct client_identity){.principal = principal, .name = principal == 3 ? STR("three") : STR("four")});
  s->revision = stateless ? mcp_revision_stateless() : mcp_revision_latest();
  s->state = SESSION_OPEN;
  return s;
}

// ---- set-up

static uint64_t fake_mono(void *ctx) {
  return ((struct fixture *)ctx)->now;
}
static int64_t fake_wall(void *ctx) {
  return ((struct fixture *)ctx)->wall;
}

static int setup(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  x->now = 1000000;
  x->wall = 1785196800007;
  x->clock = (struct clock){fake_mono, fake_wall, x};
  x->log = (struct log){-1, LOG_OFF, NULL};
  loop_init(&x->loop, &x->log, &x->clock, &rand_system);
  struct mcp_server_limits limits = {
      .max_sessions = 10, .max_in_flight = 10, .max_held = 1 << 20, .max_message = 1 << 20};
  mcp_server_init(&x->server, &x->loop, &surface, x, &limits);
  buf_init(&x->scratch, 1 << 20);
  buf_init(&x->out, 1 << 20);
  x->a = open_session(x, 3, false);
  x->b = open_session(x, 3, false);
  x->stateless = open_session(x, 3, true);
  x->stateless_too = open_session(x, 3, true);
  x->other_principal = open_session(x, 4, true);
  x->all.opt.request_max_ms = WAIT_MS;
  for (unsigned i = 0; i < 2; i++) {
    x->upstreams[i].index = i;
    x->lanes[i].upstream = &x->upstreams[i];
    x->lanes[i].number = (uint64_t)i + 1;
  }
  open_link(x);
  tasks_init(&x->tasks, &x->loop);
  x->context = (struct call_context){.upstreams = &x->all, .loop = &x->loop, .tasks = &x->tasks, .rules = &no_rules};
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  tasks_done(&x->tasks);
  link_free(&x->link);
  struct session **all[] = {&x->a, &x->b, &x->stateless, &x->stateless_too, &x->other_principal};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) session_close(all[i]);
  mcp_server_done(&x->server);
  buf_done(&x->scratch);
  buf_done(&x->out);
  loop_done(&x->loop);
  mem_free(x);
  return 0;
}

// A call of this session to a server of its own era, as far as a task needs to know it.
static struct call call_of(struct fixture *x, struct session *s, unsigned source) {
  struct call c = {.context = &x->context, .session = s, .owner = s, .route_count = 1, .lane = &x->lanes[source]};
  c.routes[0].source = source;
  c.to_stateless = s->revision->stateless;
  return c;
}

static void add(struct fixture *x, struct session *s, unsigned source, const char *id) {
  struct call c = call_of(x, s, source);
  assert_true(str_eq(tasks_add(&x->tasks, &c, str_of(id)), str_of(id)));
}

static struct task *find(struct fixture *x, const struct session *s, const char *id) {
  return tasks_find(&x->tasks, s, str_of(id));
}

static size_t count(const struct fixture *x) {
  size_t n = 0;
  LIST_EACH(it, &x->tasks.all) n++;
  assert_int_equal(n, map_count(&x->tasks.by_key));
  return n;
}

static void happened(struct fixture *x, const char *want) {
  if (!str_eq(buf_view(&x->out), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&x->out)), want);
  buf_reset(&x->out);
}

// ---- whose they are

static void a_task_is_known_to_the_session_that_made_it_and_to_no_other(void **state) {
  struct fixture *x = *state;
  add(x, x->a, 1, "t");
  struct task *t = find(x, x->a, "t");
  assert_non_null(t);
  assert_int_equal(t->source, 1);
  assert_ptr_equal(t->client, x->a);
  assert_null(t->result);
  assert_true(str_eq(t->id, STR("t")));
  assert_null(find(x, x->b, "t"));
  assert_null(find(x, x->stateless, "t"));
  assert_null(find(x, x->a, "T"));
  assert_null(find(x, x->a, ""));
}

static void stateless_clients_know_the_tasks_of_their_principal(void **state) {
  struct fixture *x = *state;
  add(x, x->stateless, 0, "t");
  struct task *t = find(x, x->stateless, "t");
  assert_non_null(t);
  assert_null(t->client);
  assert_ptr_equal(find(x, x->stateless_too, "t"), t);
  assert_null(find(x, x->other_principal, "t"));
  assert_null(find(x, x->a, "t"));  // the same principal, but with a session of its own
}

static void an_id_cannot_reach_into_another_scope(void **state) {
  struct fixture *x = *state;
  char id[128];
  add(x, x->a, 0, "t");
  add(x, x->stateless, 0, "u");
  snprintf(id, sizeof id, "%s:t", x->a->id);
  assert_null(find(x, x->b, id));
  assert_null(find(x, x->other_principal, "principal 3:u"));
  // Bytes of any kind make an id.
  struct call c = call_of(x, x->a, 0);
  tasks_add(&x->tasks, &c, (str){"a\0b", 3});
  assert_non_null(tasks_find(&x->tasks, x->a, (str){"a\0b", 3}));
  assert_null(tasks_find(&x->tasks, x->a, (str){"a\0c", 3}));
  assert_null(find(x, x->a, "a"));
}

static void the_same_id_of_two_clients_is_two_tasks(void **state) {
  struct fixture *x = *state;
  add(x, x->a, 0, "t");
  add(x, x->b, 1, "t");
  assert_int_equal(count(x), 2);
  assert_int_equal(find(x, x->a, "t")->source, 0);
  assert_int_equal(find(x, x->b, "t")->source, 1);
}

static void an_id_given_again_to_another_client_is_lost_to_the_first(void **state) {
  struct fixture *x = *state;
  add(x, x->a, 0, "t");
  add(x, x->a, 0, "u");
  add(x, x->b, 0, "t");  // its server was restarted, and counts from one again
  assert_null(find(x, x->a, "t"));
  assert_non_null(find(x, x->a, "u"));
  assert_non_null(find(x, x->b, "t"));
  // A task that nobody is shown is nobody's either.
  struct call c = call_of(x, x->a, 0);
  tasks_given(&x->tasks, &c, STR("t"));
  assert_null(find(x, x->b, "t"));
  // On a connection of its own a client has ids of its own.
  x->lanes[0].session = x->b;
  x->lanes[0].number = 7;
  add(x, x->b, 0, "u");
  x->lanes[0].session = NULL;
  assert_non_null(find(x, x->a, "u"));
}

static void an_id_given_again_is_a_new_task_of_the_same_server(void **state) {
  struct fixture *x = *state;
  add(x, x->a, 0, "t");
  add(x, x->a, 0, "u");
  add(x, x->a, 0, "t");
  assert_int_equal(count(x), 2);
  assert_ptr_equal(CONTAINER_OF(x->tasks.all.prev, struct task, node), find(x, x->a, "t"));
  // Another server cannot take a task away by giving its id, nor hand its own to the first one.
  struct call other = call_of(x, x->a, 1);
  assert_null(tasks_add(&x->tasks, &other, STR("t")).p);
  assert_int_equal(count(x), 2);
  assert_int_equal(find(x, x->a, "t")->source, 0);
}

static void a_stateless_client_knows_tasks_of_servers_with_a_session_by_ids_of_ours(void **state) {
  struct fixture *x = *state;
  struct call c = call_of(x, x->stateless, 0);
  c.to_stateless = false;
  str one = tasks_add(&x->tasks, &c, STR("t"));
  // Another connection, another server perhaps, and the same id.
  struct call d = call_of(x, x->stateless_too, 1);
  d.to_stateless = false;
  str two = tasks_add(&x->tasks, &d, STR("t"));
  assert_false(str_eq(one, two));
  assert_int_equal(one.n, 32);
  assert_null(find(x, x->stateless, "t"));
  const struct task *t = tasks_find(&x->tasks, x->stateless_too, one);
  assert_true(str_eq(t->id, STR("t")) && str_eq(t->shown, one));
  assert_int_equal(t->source, 0);
  assert_int_equal(tasks_find(&x->tasks, x->stateless, two)->source, 1);
  assert_null(tasks_find(&x->tasks, x->other_principal, one));
  // The server is asked by its own.
  tasks_wait(&x->tasks, &c, one);
  happened(x, "link {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/result\",\"params\":{\"taskId\":\"t\"}}\n");
}

// ---- when they are forgotten

static void tasks_go_with_the_session_whose_they_are(void **state) {
  struct fixture *x = *state;
  add(x, x->a, 0, "1");
  add(x, x->b, 0, "2");
  add(x, x->a, 0, "3");
  add(x, x->stateless, 0, "4");
  tasks_forget(&x->tasks, x->a);
  assert_int_equal(count(x), 2);
  assert_null(find(x, x->a, "1"));
  assert_non_null(find(x, x->b, "2"));
  tasks_forget(&x->tasks, x->stateless);  // on a connection that all share: it is the principal's
  assert_non_null(find(x, x->stateless_too, "4"));
}

static void and_with_the_session_on_whose_connection_they_were_made(void **state) {
  struct fixture *x = *state;
  x->lanes[0].session = x->stateless;
  add(x, x->stateless, 0, "t");
  assert_ptr_equal(find(x, x->stateless_too, "t")->owner, x->stateless);
  tasks_forget(&x->tasks, x->stateless_too);
  assert_int_equal(count(x), 1);
  tasks_forget(&x->tasks, x->stateless);
  assert_int_equal(count(x), 0);
}

static void of_too_many_the_oldest_is_forgotten(void **state) {
  struct fixture *x = *state;
  char id[16];
  for (int i = 0; i < MAX_TASKS; i++) {
    snprintf(id, sizeof id, "%d", i);
    add(x, i % 2 ? x->a : x->stateless, 0, id);
  }
  assert_int_equal(count(x), MAX_TASKS);
  add(x, x->b, 0, "one more");
  assert_int_equal(count(x), MAX_TASKS);
  assert_null(find(x, x->stateless, "0"));
  assert_non_null(find(x, x->a, "1"));
  assert_non_null(find(x, x->b, "one more"));
  add(x, x->a, 0, "1");  // known already: takes nobody's place, but is the youngest now
  add(x, x->b, 0, "and one");
  assert_null(find(x, x->stateless, "2"));
  assert_non_null(find(x, x->a, "1"));
}

static void if_there_are_too_many_tasks_the_principal_with_most_loses_tasks(void **state) {
  struct fixture *x = *state;
  char id[16];
  add(x, x->other_principal, 0, "the oldest");
  for (int i = 0; i < 2 * MAX_TASKS; i++) {
    snprintf(id, sizeof id, "%d", i);
    add(x, x->stateless, 0, id);
  }
  assert_int_equal(count(x), MAX_TASKS);
  assert_non_null(find(x, x->other_principal, "the oldest"));
  assert_null(find(x, x->stateless, "0"));
  assert_non_null(find(x, x->stateless, id));
  add(x, x->other_principal, 0, "another");
  assert_int_equal(count(x), MAX_TASKS);
  assert_non_null(find(x, x->other_principal, "the oldest"));
}

static void where_everybody_has_one_task_the_oldest_is_forgotten(void **state) {
  struct fixture *x = *state;
  char id[16], name[16];
  for (int i = 0; i <= MAX_TASKS; i++) {
    snprintf(id, sizeof id, "%d", i);
    snprintf(name, sizeof name, "name %d", i);
    str known = x->stateless->principal_name;
    x->stateless->principal_name = str_of(name);
    add(x, x->stateless, 0, id);
    x->stateless->principal_name = known;
  }
  assert_int_equal(count(x), MAX_TASKS);
  assert_null(find(x, x->stateless, "0"));
  assert_non_null(find(x, x->stateless, id));
}

// ---- finished ones

static bool finishes(struct fixture *x, struct session *s, const char *id, str result) {
  struct call c = call_of(x, s, 0);
  return tasks_add_finished(&x->tasks, &c, str_of(id), result);
}

static void finish(struct fixture *x, struct session *s, const char *id, str result) {
  assert_true(finishes(x, s, id, result));
}

static void one_that_was_finished_when_it_was_made_keeps_its_result(void **state) {
  struct fixture *x = *state;
  struct buf b;
  char text[] = "{\"content\":[]}";
  finish(x, x->a, "a\"b", str_of(text));
  memset(text, '#', sizeof text - 1);
  const struct task *t = find(x, x->a, "a\"b");
  assert_string_equal(t->result, "{\"content\":[]}");
  assert_int_equal(t->result_n, 14);
  assert_int_equal(x->tasks.held, 14);
  buf_init(&b, 1024);
  tasks_put_finished(t, &b);
  buf_char(&b, 0);
  assert_string_equal(b.p, "{\"taskId\":\"a\\\"b\",\"status\":\"completed\",\"createdAt\":\"2026-07-28T00:00:00.007Z\","
                           "\"lastUpdatedAt\":\"2026-07-28T00:00:00.007Z\",\"ttl\":null}");
  buf_done(&b);
  tasks_forget(&x->tasks, x->a);
  assert_int_equal(x->tasks.held, 0);
}

static void results_may_hold_so_many_bytes_and_the_oldest_make_room(void **state) {
  struct fixture *x = *state;
  size_t n = MAX_HELD / 4;
  char *large = mem_alloc(MAX_HELD + 1);
  memset(large, ' ', MAX_HELD + 1);
  static const char *const ids[] = {"1", "2", "3", "4"};
  add(x, x->a, 0, "of the server");
  for (int i = 0; i < 4; i++) finish(x, i % 2 ? x->a : x->b, ids[i], (str){large, n});
  assert_int_equal(count(x), 5);
  assert_int_equal(x->tasks.held, MAX_HELD);
  finish(x, x->a, "5", STR("{}"));
  assert_null(find(x, x->b, "1"));
  assert_non_null(find(x, x->a, "2"));
  assert_int_equal(x->tasks.held, 3 * n + 2);
  // One that is larger than all of it stands alone: whoever made it is about to ask for it.
  finish(x, x->a, "6", (str){large, MAX_HELD + 1});
  assert_int_equal(count(x), 2);
  assert_non_null(find(x, x->a, "6"));
  assert_non_null(find(x, x->a, "of the server"));  // holds nothing
  finish(x, x->a, "7", STR("{}"));
  assert_null(find(x, x->a, "6"));
  assert_int_equal(x->tasks.held, 2);
  mem_free(large);
}

static void the_principal_whose_results_hold_most_makes_room(void **state) {
  struct fixture *x = *state;
  size_t n = MAX_HELD / 4;
  char *large = mem_alloc(MAX_HELD);
  memset(large, ' ', MAX_HELD);
  finish(x, x->other_principal, "the oldest", (str){large, n});
  for (int i = 0; i < 4; i++) finish(x, x->a, (const char *[]){"1", "2", "3", "4"}[i], (str){large, n});
  assert_int_equal(x->tasks.held, MAX_HELD);
  assert_non_null(find(x, x->other_principal, "the oldest"));
  assert_null(find(x, x->a, "1"));
  // Nor for one result that leaves no room for those of principals with less: it is not kept.
  assert_false(finishes(x, x->a, "5", (str){large, MAX_HELD}));
  assert_null(find(x, x->a, "5"));
  assert_non_null(find(x, x->other_principal, "the oldest"));
  assert_int_equal(x->tasks.held, n);
  // But for those who have less.
  finish(x, x->a, "6", (str){large, 3 * n});
  finish(x, x->other_principal, "7", (str){large, n});
  assert_null(find(x, x->a, "6"));
  assert_non_null(find(x, x->other_principal, "the oldest"));
  mem_free(large);
}

// ---- waiting for a result, so that its server asks

static void wait_for(struct fixture *x, struct session *s, const char *id) {
  struct call c = call_of(x, s, 0);
  tasks_wait(&x->tasks, &c, str_of(id));
}

static void receive(struct fixture *x, const char *text) {
  link_receive(x->link, str_of(text), NULL, NULL);
}

static void a_task_is_waited_for_once_at_a_time(void **state) {
  struct fixture *x = *state;
  add(x, x->stateless, 0, "a\nb");
  wait_for(x, x->stateless, "unknown");
  happened(x, "");
  wait_for(x, x->stateless_too, "a\nb");
  wait_for(x, x->stateless, "a\nb");
  happened(x, "link {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/result\",\"params\":{\"taskId\":\"a\\nb\"}}\n");
  receive(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  assert_null(find(x, x->stateless, "a\nb")->wait.link);
  wait_for(x, x->stateless, "a\nb");
  happened(x, "link {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/result\",\"params\":{\"taskId\":\"a\\nb\"}}\n");
}

static void who_waits_gives_up_in_the_end(void **state) {
  struct fixture *x = *state;
  add(x, x->stateless, 0, "t");
  wait_for(x, x->stateless, "t");
  buf_reset(&x->out);
  x->now += WAIT_MS - 100;
  x->loop.now_known = false;
  timer_run_due(&x->loop);
  happened(x, "");
  x->now += 200;
  x->loop.now_known = false;
  timer_run_due(&x->loop);
  happened(x, "link {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"reason\":"
              "\"timed out\"}}\n");
  assert_null(find(x, x->stateless, "t")->wait.link);
}

static void a_task_that_is_forgotten_is_no_longer_waited_for(void **state) {
  struct fixture *x = *state;
  x->lanes[0].session = x->stateless;
  add(x, x->stateless, 0, "t");
  wait_for(x, x->stateless, "t");
  buf_reset(&x->out);
  tasks_forget(&x->tasks, x->stateless);
  happened(x, "link {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"reason\":"
              "\"no longer needed\"}}\n");
  receive(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
}

static void a_link_that_ends_ends_the_waiting(void **state) {
  struct fixture *x = *state;
  add(x, x->stateless, 0, "t");
  wait_for(x, x->stateless, "t");
  link_free(&x->link);
  assert_null(find(x, x->stateless, "t")->wait.link);
  open_link(x);
  buf_reset(&x->out);
  wait_for(x, x->stateless, "t");
  assert_non_null(find(x, x->stateless, "t")->wait.link);
}

// ---- what servers tell of them

static void tell(struct fixture *x, unsigned source, const char *text) {
  struct arena a;
  struct fault f;
  struct rpc_error err;
  struct rpc_message m;
  arena_init(&a);
  const struct json *v = json_parse(&a, str_of(text), &json_default_limits, &f);
  assert_true(v && rpc_read(v, &a, &m, &err));
  tasks_status(&x->context, &x->lanes[source], &m);
  arena_done(&a);
}

static void a_status_goes_to_the_session_that_made_the_task(void **state) {
#define STATUS(id) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{\"taskId\":" id "}}"
  struct fixture *x = *state;
  add(x, x->a, 0, "t");
  add(x, x->b, 1, "t");
  add(x, x->stateless, 0, "s");
  tell(x, 0, STATUS("\"t\""));
  happened(x, "a " STATUS("\"t\"") "\n");
  tell(x, 1, STATUS("\"\\u0074\""));
  happened(x, "b " STATUS("\"\\u0074\"") "\n");
  x->lanes[0].number = 7;
  tell(x, 0, STATUS("\"t\""));  // another's connection to the same server
  x->lanes[0].number = 1;
  tell(x, 1, STATUS("\"s\""));  // not its task
  tell(x, 0, STATUS("\"s\""));  // stateless clients are not told this way
  tell(x, 0, STATUS("\"unknown\""));
  tell(x, 0, STATUS("7"));
  tell(x, 0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\"}");
  happened(x, "");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_task_is_known_to_the_session_that_made_it_and_to_no_other),
      TEST(stateless_clients_know_the_tasks_of_their_principal),
      TEST(an_id_cannot_reach_into_another_scope),
      TEST(the_same_id_of_two_clients_is_two_tasks),
      TEST(an_id_given_again_to_another_client_is_lost_to_the_first),
      TEST(an_id_given_again_is_a_new_task_of_the_same_server),
      TEST(a_stateless_client_knows_tasks_of_servers_with_a_session_by_ids_of_ours),
      TEST(tasks_go_with_the_session_whose_they_are),
      TEST(and_with_the_session_on_whose_connection_they_were_made),
      TEST(of_too_many_the_oldest_is_forgotten),
      TEST(if_there_are_too_many_tasks_the_principal_with_most_loses_tasks),
      TEST(where_everybody_has_one_task_the_oldest_is_forgotten),
      TEST(one_that_was_finished_when_it_was_made_keeps_its_result),
      TEST(results_may_hold_so_many_bytes_and_the_oldest_make_room),
      TEST(the_principal_whose_results_hold_most_makes_room),
      TEST(a_task_is_waited_for_once_at_a_time),
      TEST(who_waits_gives_up_in_the_end),
      TEST(a_task_that_is_forgotten_is_no_longer_waited_for),
      TEST(a_link_that_ends_ends_the_waiting),
      TEST(a_status_goes_to_the_session_that_made_the_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
