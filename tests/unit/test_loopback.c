// SPDX-License-Identifier: Apache-2.0
// app/loopback: a client inside the process, before a surface that does what the method says. No sockets.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "app/gateway_client/loopback.h"
#include "base/mem.h"

enum { MAX_MESSAGE = 1 << 20, MODE = 2 };

struct fixture {
  struct work work;  // on what is held
  struct log log;
  struct loop loop;
  struct mcp_server server;
  struct loopback *client;
  struct buf heard;  // a line for each thing that happened
  int opened, closed, held;
  bool close_when_answered, ask_again;
  struct rpc_wait asking;
  struct request *asker;
};

// ---- the surface

static void attached(void *ctx, struct session *s) {
  struct fixture *x = ctx;
  buf_printf(&x->heard, "face %d, principal %d\n", s->mode, s->principal);
}

static void describe(void *ctx, struct session *s, struct json_writer *w) {
  json_put_key(w, STR("capabilities"));
  json_put_raw(w, STR("{\"tools\":{}}"));
}

static void opened(void *ctx, struct session *s) {
  ((struct fixture *)ctx)->opened++;
}

static void closed(void *ctx, struct session *s) {
  ((struct fixture *)ctx)->closed++;
}

static void on_told(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f) {
  struct fixture *x = CONTAINER_OF(w, struct fixture, asking);
  request_reply(x->asker, reply && reply->kind == RPC_ERROR ? json_span(reply->error) : STR("{\"answered\":true}"));
}

// A question to the client, in the middle of its request.
static void ask(struct fixture *x, struct request *r) {
  struct str_digits digits;
  struct buf b;
  x->asker = r;
  x->asking.done = on_told;
  rpc_wait_start(&r->session->asks, &x->asking, 0, 0);
  buf_init(&b, 4096);
  rpc_put_request(&b, str_from_u64(x->asking.id, &digits), STR("sampling/createMessage"), STR("{}"));
  session_send(r->session, r, buf_view(&b));
  buf_done(&b);
}

static void cancelled(struct work *work, struct request *r, str reason) {
  CONTAINER_OF(work, struct fixture, work)->held--;
}

static const struct work_ops held_work = {"held", cancelled};

static void request(void *ctx, struct request *r) {
  struct fixture *x = ctx;
  if (str_eq(r->msg.method, STR("echo"))) {
    session_notify(r->session, r, STR("notifications/message"), STR("{\"level\":\"info\"}"));
    request_reply(r, r->msg.params ? json_span(r->msg.params) : STR("{}"));
  } else if (str_eq(r->msg.method, STR("hold"))) {
    x->work.ops = &held_work;
    r->work = &x->work;
    x->held++;
  } else if (str_eq(r->msg.method, STR("ask"))) {
    ask(x, r);
  } else {
    request_fail(r, RPC_METHOD_NOT_FOUND, "Method\nnot found", STR_NONE);
  }
}

static void notification(void *ctx, struct session *s, const struct rpc_message *m) {
}

static const struct surface_ops surface = {
    .attached = attached,
    .describe = describe,
    .opened = opened,
    .closed = closed,
    .request = request,
    .notification = notification,
};

// ---- set-up

static int setup(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  x->log = (struct log){-1, LOG_OFF, NULL};
  loop_init(&x->loop, &x->log, &clock_system, &rand_system);
  struct mcp_server_limits limits = {
      .max_sessions = 10, .max_in_flight = 100, .max_held = 1 << 28, .max_message = MAX_MESSAGE};
  mcp_server_init(&x->server, &x->loop, &surface, x, &limits);
  buf_init(&x->heard, 4 << 20);
  x->client = loopback_new(&x->server, (struct client_identity){.principal = -1, .mode = MODE});
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  loopback_free(&x->client);
  assert_int_equal(x->held, 0);
  assert_int_equal(x->closed, 1);
  mcp_server_done(&x->server);
  buf_done(&x->heard);
  loop_done(&x->loop);
  mem_free(x);
  return 0;
}

static void on_answer(void *ctx, const struct json *result, const struct fault *f) {
  struct fixture *x = ctx;
  assert_true(!result != !f);
  if (result) buf_printf(&x->heard, "result %.*s\n", STR_ARG(json_span(result)));
  else buf_printf(&x->heard, "%s: %s\n", fault_name(f->code), f->message);
  if (x->close_when_answered) loopback_free(&x->client);
  if (x->ask_again) loopback_request(x->client, STR("echo"), STR("{\"again\":1}"), on_answer, x);
  x->ask_again = false;
}

static void heard(struct fixture *x, const char *want) {
  if (!str_eq(buf_view(&x->heard), str_of(want)))
    fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&x->heard)), want);
  buf_reset(&x->heard);
}

#define ARRIVED "face 2, principal -1\n"

// ---- tests

static void a_session_is_opened_with_the_face_that_was_asked_for(void **state) {
  struct fixture *x = *state;
  loop_run(&x->loop);
  heard(x, ARRIVED);
  assert_int_equal(x->opened, 1);
  const struct session *s = loopback_session(x->client);
  assert_int_equal(s->state, SESSION_OPEN);
  assert_string_equal(s->revision->name, mcp_revision_latest()->name);
  assert_false(session_askable(s));
}

static void requests_may_be_made_before_the_handshake_and_are_answered_in_order(void **state) {
  struct fixture *x = *state;
  loopback_request(x->client, STR("echo"), STR("{\"n\":1}"), on_answer, x);
  loopback_request(x->client, STR("echo"), STR_NONE, on_answer, x);
  heard(x, ARRIVED);  // no answer from inside the request
  loop_run(&x->loop);
  heard(x, "result {\"n\":1}\nresult {}\n");
}

static void an_answer_may_lead_to_the_next_request(void **state) {
  struct fixture *x = *state;
  x->ask_again = true;
  loopback_request(x->client, STR("echo"), STR("{\"n\":1}"), on_answer, x);
  loop_run(&x->loop);
  heard(x, ARRIVED "result {\"n\":1}\nresult {\"again\":1}\n");
}

static void an_error_is_a_fault_on_one_line(void **state) {
  struct fixture *x = *state;
  loopback_request(x->client, STR("nonsense"), STR_NONE, on_answer, x);
  loop_run(&x->loop);
  heard(x, ARRIVED "INVALID: Method not found\n");
}

static void params_that_are_no_object_or_too_large_are_faults(void **state) {
  struct fixture *x = *state;
  char *large = mem_alloc(2 * MAX_MESSAGE);
  memset(large, ' ', 2 * MAX_MESSAGE);
  loopback_request(x->client, STR("echo"), STR("1"), on_answer, x);
  loopback_request(x->client, STR("echo"), STR("{"), on_answer, x);
  loop_run(&x->loop);
  loopback_request(x->client, STR("echo"), (str){large, 2 * MAX_MESSAGE}, on_answer, x);
  mem_free(large);
  loop_run(&x->loop);
  heard(x, ARRIVED "INVALID: \"params\" must be an object\n"
                   "INVALID: expected ',' or '}', but the text ends\n"
                   "LIMIT: the request is larger than limits.message: shorten the arguments, or raise the limit\n");
}

static void what_servers_ask_is_refused(void **state) {
  struct fixture *x = *state;
  loopback_request(x->client, STR("ask"), STR_NONE, on_answer, x);
  loop_run(&x->loop);
  heard(x, ARRIVED "result {\"code\":-32601,\"message\":\"not supported on the command line\"}\n");
}

static void leaving_cancels_what_is_under_way_without_a_word(void **state) {
  struct fixture *x = *state;
  loopback_request(x->client, STR("hold"), STR_NONE, on_answer, x);
  loopback_request(x->client, STR("echo"), STR_NONE, on_answer, x);
  loop_run(&x->loop);
  assert_int_equal(x->held, 1);
  loopback_request(x->client, STR("echo"), STR_NONE, on_answer, x);  // answered, not read yet
  loopback_free(&x->client);
  assert_null(x->client);
  loop_run(&x->loop);
  heard(x, ARRIVED "result {}\n");
}

static void a_client_may_leave_before_the_handshake(void **state) {
  struct fixture *x = *state;
  loopback_request(x->client, STR("echo"), STR_NONE, on_answer, x);
  loopback_free(&x->client);
  loop_run(&x->loop);
  heard(x, ARRIVED);
}

static void a_client_may_leave_when_it_is_answered(void **state) {
  struct fixture *x = *state;
  x->close_when_answered = true;
  loopback_request(x->client, STR("echo"), STR("{\"n\":1}"), on_answer, x);
  loopback_request(x->client, STR("echo"), STR("{\"n\":2}"), on_answer, x);
  loop_run(&x->loop);
  heard(x, ARRIVED "result {\"n\":1}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_session_is_opened_with_the_face_that_was_asked_for),
      TEST(requests_may_be_made_before_the_handshake_and_are_answered_in_order),
      TEST(an_answer_may_lead_to_the_next_request),
      TEST(an_error_is_a_fault_on_one_line),
      TEST(params_that_are_no_object_or_too_large_are_faults),
      TEST(what_servers_ask_is_refused),
      TEST(leaving_cancels_what_is_under_way_without_a_word),
      TEST(a_client_may_leave_before_the_handshake),
      TEST(a_client_may_leave_when_it_is_answered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
