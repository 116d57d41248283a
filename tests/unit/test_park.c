// SPDX-License-Identifier: Apache-2.0
// call/park and call/roots: calls of a stateless client that wait for it, at a server with a session. The server's side
// of the link is played by the test; the clock is the test's too.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "call/bridge/session_questions.h"
#include "call/pipeline.h"
#include "mcp/client/link_impl.h"
#include "upstream/upstream_impl.h"

enum { MAX_PARKED = 100000, GRACE_MS = 100, REQUEST_MS = 60000, INPUT_MS = 300000 };

struct fixture {
  uint64_t now;
  struct clock clock;
  struct log log;
  struct loop loop;
  struct mcp_server server;
  struct session *s;
  struct upstreams all;
  struct upstream upstream, *upstream_list[1];
  struct upstream_spec spec;
  struct lane lane;
  struct buf scratch, out;
  struct call_context calls;
  uint64_t *numbers;  // of calls that are parked, as far as they are counted
};

// ---- what happens is written down, a line for each thing

static void transport_open(struct link *l) {
}
static void transport_send(struct link *l, str message, struct link_call *call, str method) {
  struct fixture *x = l->transport;
  buf_printf(&x->out, "server %.*s\n", STR_ARG(message));
}
static void transport_confirm(struct link *l, str message) {
}
static void transport_forget(struct link *l, struct link_call *call, bool answered) {
}
static void transport_flow(struct link *l, bool go) {
}
static void transport_close(struct link *l) {
}

static void on_request(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m) {
  struct fixture *x = ctx;
  calls_ask(&x->calls, &x->lane, via, m);
}
static void on_closed(void *ctx, struct link *l, const struct fault *f) {
}

static void outlet_send(struct session *s, struct request *related, str message) {
  fail_msg("nothing but answers: %.*s", STR_ARG(message));
}
static void outlet_answer(struct request *r, struct payload message) {
  struct fixture *x = r->channel;
  buf_printf(&x->out, "client %.*s\n", STR_ARG(message.text));
}
static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

// Each request is a call to the one server there is.
static void surface_request(void *ctx, struct request *r) {
  static const struct call_method method = {.name = "tools/call", .target = CALL_BY_ONLY};
  struct fixture *x = ctx;
  call_start(&x->calls, r, &method, STR_NONE);
}
static void surface_closed(void *ctx, struct session *s) {
  struct fixture *x = ctx;
  calls_forget(&x->calls, s);
}
static const struct surface_ops surface = {.request = surface_request, .closed = surface_closed};

// ---- set-up

static uint64_t fake_mono(void *ctx) {
  return ((struct fixture *)ctx)->now;
}
static int64_t fake_wall(void *ctx) {
  return 1785196800007;
}

static void open_lane(struct fixture *x) {
  static const struct link_transport transport = {
      false, transport_open, transport_send, transport_confirm, transport_forget, transport_flow, transport_close,
      NULL};
  static const struct link_events events = {.closed = on_closed, .request = on_request};
  struct link_options opt = {.loop = &x->loop, .scratch = &x->scratch, .name = STR("up"), .max_message = 1 << 20};
  x->spec = (struct upstream_spec){.name = STR("up"), .kind = &upstream_http};
  x->upstream = (struct upstream){.all = &x->all, .spec = &x->spec};
  list_init(&x->upstream.lanes);
  x->upstream_list[0] = &x->upstream;
  x->all = (struct upstreams){.list = x->upstream_list, .count = 1};
  x->all.opt =
      (struct upstreams_options){.loop = &x->loop, .request_ms = REQUEST_MS, .request_max_ms = 10 * REQUEST_MS};
  x->all.catalog = catalog_build(NULL, 0, &(struct catalog_options){.seed = &x->loop.seed});
  x->lane = (struct lane){.magic = LANE_MAGIC, .upstream = &x->upstream, .session = x->s, .state = LANE_READY};
  list_init(&x->lane.calls);
  list_init(&x->lane.waiters);
  list_init(&x->lane.users);
  x->s->has_lanes = true;
  list_push(&x->upstream.lanes, &x->lane.node);
  x->lane.link = link_new(&opt, &transport, x, &events, x);
  x->lane.link->state = LINK_READY;
  x->lane.link->revision = mcp_revision_latest();
}

static int setup(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  x->now = 1000000;
  x->clock = (struct clock){fake_mono, fake_wall, x};
  x->log = (struct log){-1, LOG_OFF, NULL};
  loop_init(&x->loop, &x->log, &x->clock, &rand_system);
  struct mcp_server_limits limits = {
      .max_sessions = 10, .max_in_flight = 10, .max_held = 1 << 20, .max_message = 1 << 20};
  mcp_server_init(&x->server, &x->loop, &surface, x, &limits);
  buf_init(&x->scratch, 1 << 20);
  buf_init(&x->out, 1 << 20);
  x->s = session_new(&x->server, &outlet, x, (struct client_identity){.principal = -1});
  x->s->revision = mcp_revision_stateless();
  x->s->state = SESSION_OPEN;
  x->s->can_elicit = x->s->can_list_roots = true;
  open_lane(x);
  call_context_init(&x->calls, &x->all,
                    &(struct call_options){.loop = &x->loop, .max_message = 1 << 20, .input_ms = INPUT_MS});
  *state = x;
  return 0;
}

static void others_leave(struct fixture *x) {
  for (size_t i = 0; x->numbers && i < MAX_PARKED; i++)
    map_remove(&x->calls.parked.waiting, (str){(const char *)&x->numbers[i], sizeof *x->numbers});
  mem_free(x->numbers);
  x->numbers = NULL;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  others_leave(x);
  session_close(&x->s);
  link_free(&x->lane.link);
  call_context_done(&x->calls);
  catalog_unref(&x->all.catalog);
  mcp_server_done(&x->server);
  buf_done(&x->scratch);
  buf_done(&x->out);
  loop_done(&x->loop);
  mem_free(x);
  return 0;
}

// As many calls of others as may be parked are.
static void others_wait(struct fixture *x) {
  x->numbers = mem_zero(MAX_PARKED * sizeof *x->numbers);
  for (size_t i = 0; i < MAX_PARKED; i++) {
    x->numbers[i] = UINT64_MAX - i;
    assert_true(map_add(&x->calls.parked.waiting, (str){(const char *)&x->numbers[i], sizeof *x->numbers}, x));
  }
}

static void turn(struct fixture *x) {
  uv_run(&x->loop.uv, UV_RUN_NOWAIT);
}

static void advance(struct fixture *x, uint64_t ms) {
  x->now += ms;
  x->loop.now_known = false;
  timer_run_due(&x->loop);
}

static void call(struct fixture *x, const char *id, const char *members) {
  static const char meta[] = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                             "\"io.modelcontextprotocol/clientCapabilities\":{}}";
  char text[1024];
  struct fault f;
  struct rpc_error err;
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{%s,%s}}", id,
           members, meta);
  struct request *r = request_parse(&x->server, str_of(text), &f);
  assert_non_null(r);
  assert_true(rpc_read(r->value, &r->arena, &r->msg, &err));
  session_serve(x->s, r, x);
}

static void server_says(struct fixture *x, const char *text) {
  link_receive(x->lane.link, str_of(text), NULL, NULL);
  turn(x);
}

static void happened(struct fixture *x, const char *want) {
  if (!str_eq(buf_view(&x->out), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&x->out)), want);
  buf_reset(&x->out);
}

static bool has_happened(struct fixture *x, const char *part) {
  bool found = memmem(x->out.p, x->out.n, part, strlen(part));
  buf_reset(&x->out);
  return found;
}

#define CALL(id, name) \
  "server {\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}\n"
#define REFUSED(id, why) \
  "server {\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32603,\"message\":\"" why "\"}}\n"
#define ASK_ROOTS(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"roots/list\"}"
#define ELICIT(id) \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\"}}"

// ---- too many calls that wait

static void a_call_that_is_asked_is_answered_with_the_question(void **state) {
  struct fixture *x = *state;
  x->lane.greeted = true;
  call(x, "1", "\"name\":\"a\"");
  happened(x, CALL("1", "a"));
  server_says(x, ELICIT("7"));
  assert_int_equal(map_count(&x->calls.parked.waiting), 1);
  assert_true(has_happened(x, "\"inputRequests\":{\"q1\":{\"method\":\"elicitation/create\""));
}

static void of_too_many_the_question_is_refused_and_the_call_goes_on(void **state) {
  struct fixture *x = *state;
  others_wait(x);
  x->lane.greeted = true;
  call(x, "1", "\"name\":\"a\"");
  happened(x, CALL("1", "a"));
  server_says(x, ELICIT("7"));
  happened(x, REFUSED("7", "too many calls wait for their clients' answers"));
  assert_int_equal(map_count(&x->calls.parked.waiting), MAX_PARKED);
  assert_int_equal(x->lane.asks, 0);
  server_says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}");
  assert_true(has_happened(x, "\"resultType\":\"complete\""));
  // With room again the next is asked.
  others_leave(x);
  call(x, "2", "\"name\":\"b\"");
  happened(x, CALL("2", "b"));
  server_says(x, ELICIT("8"));
  assert_true(has_happened(x, "client {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\""));
}

static void and_so_is_one_that_came_before_the_call_that_could_tell_it(void **state) {
  struct fixture *x = *state;
  others_wait(x);
  x->lane.greeted = true;
  server_says(x, ASK_ROOTS("\"r\""));
  happened(x, "");
  call(x, "1", "\"name\":\"a\"");
  happened(x, CALL("1", "a"));
  turn(x);
  happened(x, REFUSED("\"r\"", "the client cannot receive questions now"));
  assert_int_equal(x->lane.asks, 0);
  server_says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}");
  assert_true(has_happened(x, "\"resultType\":\"complete\""));
}

// ---- calls that are held back for the roots

static void the_first_call_is_held_back_for_a_moment(void **state) {
  struct fixture *x = *state;
  call(x, "1", "\"name\":\"a\"");
  advance(x, GRACE_MS - TIMER_TICK_MS);
  happened(x, "");
  advance(x, 2 * TIMER_TICK_MS);
  happened(x, CALL("1", "a"));
  call(x, "2", "\"name\":\"b\"");
  happened(x, CALL("2", "b"));
}

static void one_of_a_client_without_roots_is_not(void **state) {
  struct fixture *x = *state;
  x->s->can_list_roots = false;
  call(x, "1", "\"name\":\"a\"");
  happened(x, CALL("1", "a"));
}

static void the_state_of(struct fixture *x, char out[512]) {
  const char *at = memmem(x->out.p, x->out.n, "\"requestState\":\"", 16);
  assert_non_null(at);
  at += 16;
  size_t n = (size_t)((const char *)memchr(at, '"', 256) - at);
  snprintf(out, 512, "\"name\":\"a\",\"requestState\":\"%.*s\",\"inputResponses\":{\"q1\":{\"roots\":[]}}", (int)n, at);
  buf_reset(&x->out);
}

static void it_waits_on_while_the_client_thinks_and_a_moment_after_its_answer(void **state) {
  struct fixture *x = *state;
  char again[512];
  call(x, "1", "\"name\":\"a\"");
  advance(x, GRACE_MS / 2);
  server_says(x, ASK_ROOTS("7"));
  the_state_of(x, again);
  advance(x, 10 * GRACE_MS);
  happened(x, "");
  call(x, "2", again);
  happened(x, "server {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"roots\":[]}}\n");
  advance(x, GRACE_MS - TIMER_TICK_MS);
  happened(x, "");
  advance(x, 2 * TIMER_TICK_MS);
  happened(x, CALL("1", "a"));
}

static void before_the_next_call_the_server_hears_that_the_roots_have_changed(void **state) {
  struct fixture *x = *state;
  x->lane.greeted = x->lane.rooted = true;
  call(x, "1", "\"name\":\"a\"");
  happened(x, "server {\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}\n");
  advance(x, GRACE_MS - TIMER_TICK_MS);
  happened(x, "");
  advance(x, 2 * TIMER_TICK_MS);
  happened(x, CALL("1", "a"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_call_that_is_asked_is_answered_with_the_question),
      TEST(of_too_many_the_question_is_refused_and_the_call_goes_on),
      TEST(and_so_is_one_that_came_before_the_call_that_could_tell_it),
      TEST(the_first_call_is_held_back_for_a_moment),
      TEST(one_of_a_client_without_roots_is_not),
      TEST(it_waits_on_while_the_client_thinks_and_a_moment_after_its_answer),
      TEST(before_the_next_call_the_server_hears_that_the_roots_have_changed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
