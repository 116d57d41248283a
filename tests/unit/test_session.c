// SPDX-License-Identifier: Apache-2.0
// mcp/session: the server role between an outlet that writes down what it is given and a surface that does what the
// method says. No sockets.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "mcp/server/session.h"

enum { MAX_HELD = 12000, MAX_MESSAGE = 1 << 20 };

struct fixture {
  struct work work;  // on what is held
  uint64_t now;
  struct clock clock;
  struct log log;
  struct loop loop;
  struct mcp_server server;
  struct session *s;
  // the outlet's
  struct buf out;  // a line for each thing that happened
  bool close_in_answer;
  // the surface's
  struct request *held[MAX_HELD];
  int held_count, opened, closed;
};

// ---- the outlet

static struct fixture *of(const struct session *s) {
  return s->channel;
}

static void outlet_send(struct session *s, struct request *related, str message) {
  buf_printf(&of(s)->out, "send%s ", related ? " related" : "");
  buf_str(&of(s)->out, message);
  buf_char(&of(s)->out, '\n');
}

static void outlet_answer(struct request *r, struct payload message) {
  struct fixture *x = of(r->session);
  buf_str(&x->out, message.text.p ? message.text : STR("no answer"));
  buf_char(&x->out, '\n');
  if (!x->close_in_answer) return;
  x->close_in_answer = false;
  session_close(&x->s);
}

static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

// ---- the surface

static void describe(void *ctx, struct session *s, struct json_writer *w) {
  json_put_key(w, STR("capabilities"));
  json_put_raw(w, STR("{\"tools\":{}}"));
}

static void opened(void *ctx, struct session *s) {
  ((struct fixture *)ctx)->opened++;
}

static void closed(void *ctx, struct session *s) {
  assert_true(list_empty(&s->requests));
  ((struct fixture *)ctx)->closed++;
}

static void cancelled(struct work *work, struct request *r, str reason) {
  buf_printf(&CONTAINER_OF(work, struct fixture, work)->out, "cancelled %.*s: %.*s\n", STR_ARG(r->id), STR_ARG(reason));
}

static const struct work_ops held_work = {"held", cancelled};

static void request(void *ctx, struct request *r) {
  struct fixture *x = ctx;
  if (str_eq(r->msg.method, STR("echo"))) {
    request_reply(r, r->msg.params ? json_span(r->msg.params) : STR("{}"));
  } else if (str_eq(r->msg.method, STR("hold"))) {
    x->work.ops = &held_work;
    r->work = &x->work;
    x->held[x->held_count++] = r;
  } else {
    request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
  }
}

static void notification(void *ctx, struct session *s, const struct rpc_message *m) {
  buf_printf(&((struct fixture *)ctx)->out, "heard %.*s\n", STR_ARG(m->method));
}

static void flow(void *ctx, struct session *s, bool go) {
}

static void attached(void *ctx, struct session *s) {
}

static const struct surface_ops surface = {
    .attached = attached,
    .describe = describe,
    .opened = opened,
    .closed = closed,
    .request = request,
    .notification = notification,
    .flow = flow,
};

// ---- set-up

static uint64_t fake_mono(void *ctx) {
  return ((struct fixture *)ctx)->now;
}
static int64_t fake_wall(void *ctx) {
  return 0;
}

static int setup(void **state) {
  struct fixture *x = MEM_NEW(struct fixture);
  x->now = 1000000;
  x->clock = (struct clock){fake_mono, fake_wall, x};
  x->log = (struct log){-1, LOG_OFF, NULL};
  loop_init(&x->loop, &x->log, &x->clock, &rand_system);
  struct mcp_server_limits limits = {
      .max_sessions = 10, .max_in_flight = 20000, .max_held = 1 << 28, .max_message = MAX_MESSAGE};
  mcp_server_init(&x->server, &x->loop, &surface, x, &limits);
  buf_init(&x->out, 4 << 20);
  x->s = session_new(&x->server, &outlet, x, (struct client_identity){.principal = 3});
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  session_close(&x->s);
  mcp_server_done(&x->server);
  buf_done(&x->out);
  loop_done(&x->loop);
  mem_free(x);
  return 0;
}

// Gives the session one message; false when it was none.
static bool receive(struct fixture *x, const char *text, struct rpc_error *err) {
  struct fault f;
  struct request *r = request_parse(&x->server, str_of(text), &f);
  if (!r) fail_msg("%s: %s", text, f.message);
  return session_receive(x->s, r, x, err);
}

static void says(struct fixture *x, const char *text) {
  struct rpc_error err;
  if (!receive(x, text, &err)) fail_msg("%s: %s", text, err.message);
}

// What has happened since the last time is exactly this.
static void happened(struct fixture *x, const char *want) {
  if (!str_eq(buf_view(&x->out), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&x->out)), want);
  buf_reset(&x->out);
}

#define HELLO(version) \
  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" version \
  "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define WELCOME(version) \
  "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"" version "\",\"capabilities\":{\"tools\":{}}," \
  "\"serverInfo\":{\"name\":\"toolgate\",\"title\":\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}}}\n"

static void shake_hands(struct fixture *x) {
  says(x, HELLO("2025-11-25"));
  says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
  happened(x, WELCOME("2025-11-25"));
  assert_int_equal(x->opened, 1);
}

// ---- the handshake

static void each_revision_is_answered_with_itself_and_others_with_the_latest(void **state) {
  static const struct {
    const char *hello, *welcome, *revision;
  } table[] = {
      {HELLO("2024-11-05"), WELCOME("2024-11-05"), "2024-11-05"},
      {HELLO("2025-03-26"), WELCOME("2025-03-26"), "2025-03-26"},
      {HELLO("2025-06-18"), WELCOME("2025-06-18"), "2025-06-18"},
      {HELLO("2025-11-25"), WELCOME("2025-11-25"), "2025-11-25"},
      {HELLO("1999-01-01"), WELCOME("2025-11-25"), "2025-11-25"},
      {HELLO("2099-01-01"), WELCOME("2025-11-25"), "2025-11-25"},
      {HELLO(""), WELCOME("2025-11-25"), "2025-11-25"},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    session_close(&x->s);
    x->opened = 0;
    x->s = session_new(&x->server, &outlet, x, (struct client_identity){.principal = 3});
    assert_int_equal(x->s->state, SESSION_NEW);
    says(x, table[i].hello);
    happened(x, table[i].welcome);
    assert_string_equal(x->s->revision->name, table[i].revision);
    assert_int_equal(x->s->state, SESSION_INITIALIZED);
    assert_int_equal(x->opened, 0);
    says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_int_equal(x->s->state, SESSION_OPEN);
    assert_int_equal(x->opened, 1);
    says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_int_equal(x->opened, 1);
  }
}

static void before_the_handshake_there_is_only_ping(void **state) {
  struct fixture *x = *state;
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}");
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":"
              "\"the first request of a session must be initialize\"}}\n");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}");
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n");
  says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
  assert_int_equal(x->s->state, SESSION_NEW);
  assert_int_equal(x->opened, 0);
  shake_hands(x);
}

static void a_malformed_initialize_may_be_mended(void **state) {
  static const char *const bad[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":[\"2025-11-25\"]}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":20251125}}",
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    says(x, bad[i]);
    happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":"
                "\"params.protocolVersion must be a string\"}}\n");
    assert_int_equal(x->s->state, SESSION_NEW);
  }
  shake_hands(x);
}

static void a_second_initialize_is_refused_and_changes_nothing(void **state) {
  struct fixture *x = *state;
  says(x, HELLO("2025-06-18"));
  happened(x, WELCOME("2025-06-18"));
  for (int i = 0; i < 2; i++) {
    says(x, HELLO("2024-11-05"));
    happened(x, "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32600,\"message\":"
                "\"the session is already initialized\"}}\n");
    assert_string_equal(x->s->revision->name, "2025-06-18");
    says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
  }
  assert_int_equal(x->opened, 1);
}

static void a_client_that_forgets_to_confirm_is_served_all_the_same(void **state) {
  struct fixture *x = *state;
  says(x, HELLO("2025-06-18"));
  happened(x, WELCOME("2025-06-18"));
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
  assert_int_equal(x->opened, 0);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":{\"a\": 1}}");
  assert_int_equal(x->opened, 1);
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\": 1}}\n");
  says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
  assert_int_equal(x->opened, 1);
}

static void the_session_knows_what_its_client_can_do(void **state) {
  struct fixture *x = *state;
  assert_false(session_askable(x->s));
  assert_true(str_eq(x->s->capabilities, STR("{}")));
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
          "\"capabilities\":{\"sampling\":{}, \"roots\": {\"listChanged\":true},\"elicitation\":null,\"x\":1}}}");
  assert_true(x->s->can_sample && x->s->can_list_roots);
  assert_false(x->s->can_elicit || x->s->has_tasks);
  assert_true(session_askable(x->s));
  assert_true(str_eq(x->s->capabilities,
                     STR("{\"sampling\":{}, \"roots\": {\"listChanged\":true},\"elicitation\":null,\"x\":1}")));
  assert_int_equal(x->s->principal, 3);
  assert_int_equal(strlen(x->s->id), 32);
  struct session *other = session_new(&x->server, &outlet, x, (struct client_identity){.principal = -1});
  assert_string_not_equal(other->id, x->s->id);
  assert_int_equal(x->server.shares.total, 2);
  session_close(&other);
  assert_int_equal(x->server.shares.total, 1);
}

// ---- requests

static void an_id_comes_back_byte_for_byte(void **state) {
  static const char *const ids[] = {
      "0",
      "-0",
      "1",
      "-1",
      "1.0",
      "1.50",
      "1e2",
      "1E+2",
      "0.1e-7",
      "9007199254740993",
      "123456789012345678901234567890",
      "1e999",
      "\"\"",
      "\"1\"",
      "\" \"",
      "\"a\\u0062c\"",
      "\"\\ud83d\\ude00\"",
      "\"\xf0\x9f\x98\x80\"",
      "\"\\\"\\\\\\/\\n\"",
      "\"\\u0000\"",
      "\"null\"",
      "\"{}\"",
  };
  struct fixture *x = *state;
  shake_hands(x);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    char text[256];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\", \"id\" : %s , \"method\":\"echo\"}", ids[i]);
    says(x, text);
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", ids[i]);
    happened(x, text);
    snprintf(text, sizeof text, "{\"id\":%s,\"jsonrpc\":\"2.0\",\"method\":\"nothing\"}", ids[i]);
    says(x, text);
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n", ids[i]);
    happened(x, text);
  }
}

static void an_id_that_is_neither_string_nor_number_is_refused(void **state) {
  static const char *const ids[] = {"null", "true", "false", "[]", "[1]", "{}", "{\"a\":1}"};
  struct fixture *x = *state;
  shake_hands(x);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    char text[128];
    struct rpc_error err;
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"echo\"}", ids[i]);
    assert_false(receive(x, text, &err));
    assert_int_equal(err.code, RPC_INVALID_REQUEST);
    assert_string_equal(err.id, "");
  }
  happened(x, "");
}

static void a_batch_is_for_the_outlet_to_take_apart(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  struct fault f;
  struct rpc_error err;
  const char *batch = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}, "
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"},7,"
                      "{\"jsonrpc\":\"2.0\",\"id\":\"two\",\"method\":\"hold\"}]";
  struct request *all = request_parse(&x->server, str_of(batch), &f);
  int understood = 0;
  JSON_EACH(it, all->value) {
    struct request *one = request_parse(&x->server, json_span(it), &f);
    understood += session_receive(x->s, one, x, &err);
  }
  assert_int_equal(understood, 3);
  assert_false(session_receive(x->s, all, x, &err));  // as it is, it is no message
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nheard notifications/roots/list_changed\n");
  request_reply(x->held[0], STR("2"));
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":\"two\",\"result\":2}\n");
}

static void what_is_no_json_or_too_large_never_becomes_a_request(void **state) {
  struct fixture *x = *state;
  struct fault f;
  assert_null(request_parse(&x->server, STR("{\"a\":1,}"), &f));
  assert_int_equal(f.code, FAULT_INVALID);
  assert_null(request_parse(&x->server, STR(""), &f));
  char *large = mem_alloc(MAX_MESSAGE + 1);
  memset(large, ' ', MAX_MESSAGE + 1);
  large[0] = '1';
  assert_null(request_parse(&x->server, (str){large, MAX_MESSAGE + 1}, &f));
  assert_int_equal(f.code, FAULT_LIMIT);
  struct request *r = request_parse(&x->server, (str){large, MAX_MESSAGE}, &f);
  assert_non_null(r);
  request_discard(&x->server, r);
  mem_free(large);
}

static void a_request_keeps_its_own_copy_of_the_message(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  struct fault f;
  struct rpc_error err;
  char text[] = "{\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"method\":\"hold\",\"params\":{\"a\":\"b\"}}";
  struct request *r = request_parse(&x->server, str_of(text), &f);
  memset(text, '#', sizeof text);
  assert_true(session_receive(x->s, r, x, &err));
  assert_ptr_equal(r->channel, x);
  assert_true(str_eq(json_span(r->msg.params), STR("{\"a\":\"b\"}")));
  request_reply(r, json_span(r->msg.params));
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":\"mine\",\"result\":{\"a\":\"b\"}}\n");
}

static void a_forwarded_reply_keeps_its_bytes_under_the_clients_id(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"hold\"}");
  struct arena a;
  arena_init(&a);
  struct fault f;
  struct rpc_error err;
  struct rpc_message m;
  const struct json *v = json_parse(&a, STR("{\"jsonrpc\":\"2.0\", \"id\":99,\"result\":{\"n\":1.10, \"id\":99}}"),
                                    &json_default_limits, &f);
  assert_true(rpc_read(v, &a, &m, &err));
  request_reply_as(x->held[0], &m);
  request_reply_as(x->held[1], &m);
  happened(x, "{\"jsonrpc\":\"2.0\", \"id\":1.0,\"result\":{\"n\":1.10, \"id\":99}}\n"
              "{\"jsonrpc\":\"2.0\", \"id\":\"b\",\"result\":{\"n\":1.10, \"id\":99}}\n");
  arena_done(&a);
}

static void a_request_may_ask_for_progress(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{\"_meta\":{\"progressToken\":\"a\\u0062\"}}}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\",\"params\":{\"_meta\":{\"progressToken\":7}}}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"hold\",\"params\":{\"_meta\":3}}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"hold\",\"params\":[{\"_meta\":{\"progressToken\":7}}]}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"hold\"}");
  assert_true(str_eq(json_span(request_progress_token(x->held[0])), STR("\"a\\u0062\"")));
  assert_true(str_eq(json_span(request_progress_token(x->held[1])), STR("7")));
  for (int i = 2; i < 5; i++) assert_null(request_progress_token(x->held[i]));
  session_notify(x->s, x->held[1], STR("notifications/progress"), STR("{\"progressToken\":7,\"progress\":1}"));
  session_notify(x->s, NULL, STR("notifications/tools/list_changed"), STR_NONE);
  happened(x, "send related {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,"
              "\"progress\":1}}\nsend {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
}

static void suspend(struct request *r) {
  buf_printf(&of(r->session)->out, "suspended %.*s\n", STR_ARG(r->id));
}

static void a_request_may_let_go_of_its_connection_where_the_outlet_can(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  request_suspend(x->held[0]);
  happened(x, "");
  static const struct outlet_ops polled = {outlet_send, outlet_answer, suspend, NULL};
  x->s->outlet = &polled;
  request_suspend(x->held[0]);
  happened(x, "suspended 1\n");
  request_reply(x->held[0], STR("{}"));
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

// ---- cancellation

static void cancel(struct fixture *x, const char *members) {
  char text[256];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"%s}", members);
  says(x, text);
}

static void a_client_may_cancel_its_own_requests_by_id(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"method\":\"hold\"}");
  cancel(x, ",\"params\":{\"requestId\":\"1\",\"reason\":\"en\\u006fugh\"}");
  happened(x, "cancelled \"1\": enough\nno answer\n");
  cancel(x, ",\"params\":{\"requestId\":\"a\"}");
  happened(x, "cancelled \"\\u0061\": the client cancelled the request\nno answer\n");
  cancel(x, ",\"params\":{\"requestId\":1,\"reason\":7}");
  happened(x, "cancelled 1: the client cancelled the request\nno answer\n");
  assert_true(list_empty(&x->s->requests));
}

static void a_cancellation_of_nothing_is_ignored(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  static const char *const members[] = {"",
                                        ",\"params\":{}",
                                        ",\"params\":[1]",
                                        ",\"params\":{\"requestId\":2}",
                                        ",\"params\":{\"requestId\":\"1\"}",
                                        ",\"params\":{\"requestId\":null}",
                                        ",\"params\":{\"requestId\":[1]}"};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) cancel(x, members[i]);
  happened(x, "");
  request_reply(x->held[0], STR("{}"));
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  cancel(x, ",\"params\":{\"requestId\":1}");  // the two crossed on their way
  happened(x, "");
}

static void the_outlet_may_cancel_what_can_no_longer_be_answered(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\"}");
  request_cancel(x->held[1], STR("gone"));
  happened(x, "cancelled 2: gone\nno answer\n");
  request_reply(x->held[0], STR("1"));
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n");
}

static void closing_a_session_cancels_everything_and_then_tells_the_surface(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\"}");
  session_close(&x->s);
  assert_null(x->s);
  happened(x, "cancelled 1: the client is gone\nno answer\ncancelled 2: the client is gone\nno answer\n");
  assert_int_equal(x->closed, 1);
  assert_int_equal(x->server.shares.total, 0);
  session_close(&x->s);
}

static void an_answer_may_be_the_end_of_the_session(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\"}");
  x->close_in_answer = true;
  request_reply(x->held[1], STR("{}"));
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\ncancelled 1: the client is gone\nno answer\n");
  assert_null(x->s);
  x->s = session_new(&x->server, &outlet, x, (struct client_identity){.principal = 3});
  x->opened = 0;
  shake_hands(x);
  x->close_in_answer = true;
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"echo\"}");
  assert_null(x->s);
}

// ---- questions to the client

struct question {
  struct rpc_wait wait;
  struct fixture *x;
  int progress;
};

static void on_reply(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f) {
  struct question *q = CONTAINER_OF(w, struct question, wait);
  if (f) buf_printf(&q->x->out, "question failed: %s\n", fault_name(f->code));
  else buf_printf(&q->x->out, "reply %.*s\n", STR_ARG(json_span(reply->result ? reply->result : reply->error)));
}

static void on_progress(struct rpc_wait *w, const struct rpc_message *m) {
  CONTAINER_OF(w, struct question, wait)->progress++;
}

static void ask(struct fixture *x, struct question *q, uint64_t timeout_ms) {
  *q = (struct question){.x = x, .wait = {.done = on_reply, .progress = on_progress}};
  rpc_wait_start(&x->s->asks, &q->wait, timeout_ms, 0);
}

static void a_reply_goes_to_whoever_asked(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  struct question q[3];
  for (int i = 0; i < 3; i++) ask(x, &q[i], 1000);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"roots\":[]}}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}");
  happened(x, "reply {\"roots\":[]}\nreply {\"code\":-1,\"message\":\"no\"}\n");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");  // again
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"result\":{}}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}");
  says(x, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"?\"}}");
  happened(x, "");
  says(x,
       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3,\"progress\":1}}");
  says(x,
       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}");
  assert_int_equal(q[2].progress, 1);
  happened(x, "");
  x->now += 1010;
  timer_run_due(&x->loop);
  happened(x, "question failed: UPSTREAM_TIMEOUT\n");
}

static void questions_fail_when_the_client_is_gone(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  struct question q;
  ask(x, &q, 1000);
  session_close(&x->s);
  happened(x, "question failed: CANCELLED\n");
}

static void a_session_gets_no_reply_that_is_meant_for_another(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  struct question q;
  ask(x, &q, 0);
  struct session *first = x->s;
  x->s = session_new(&x->server, &outlet, x, (struct client_identity){.principal = 3});
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  happened(x, "");
  session_close(&x->s);
  x->s = first;
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  happened(x, "reply {}\n");
}

// ---- notifications

static void notifications_go_to_the_surface_except_those_of_the_protocol(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{}}");    // a request without an id asks for nothing
  says(x, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/vendor\"}");  // nor does one that its revision does not have
  happened(x, "heard notifications/roots/list_changed\n");
}

// ---- bounds

#define REFUSED(id, what, limit) \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32603,\"message\":" \
  "\"" what " (" limit "); wait for answers, then try again\"}}\n"
#define TOO_MANY(id) REFUSED(id, "too many requests of this session are in flight", "limits.in_flight")

static void a_session_has_only_so_many_requests_under_way(void **state) {
  struct fixture *x = *state;
  x->server.max_in_flight = 2;
  shake_hands(x);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"hold\"}");
  happened(x, TOO_MANY("3"));
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");  // costs nothing
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n");
  struct session *first = x->s;
  x->s = session_new(&x->server, &outlet, x,
                     (struct client_identity){.principal = 3});  // another session has its own count
  says(x, HELLO("2025-11-25"));
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"echo\"}");
  happened(x, WELCOME("2025-11-25") "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n");
  session_close(&x->s);
  x->s = first;
  request_reply(x->held[1], STR("2"));
  cancel(x, ",\"params\":{\"requestId\":1}");
  buf_reset(&x->out);
  for (int i = 0; i < 3; i++) says(x, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"echo\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"hold\"}");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"hold\"}");
  buf_reset(&x->out);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"hold\"}");
  happened(x, TOO_MANY("9"));
  assert_int_equal(x->s->in_flight, 2);
}

// Holds 200 KB, until it is answered.
static void says_much(struct fixture *x, const char *id) {
  struct buf large;
  buf_init(&large, MAX_MESSAGE);
  buf_printf(&large, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"hold\",\"params\":{\"a\":\"", id);
  for (int i = 0; i < 200000; i++) buf_char(&large, 'x');
  buf_str(&large, STR("\"}}"));
  buf_char(&large, 0);
  says(x, large.p);
  buf_done(&large);
}

static void a_session_holds_only_so_much_memory_but_one_request_always_may(void **state) {
  struct fixture *x = *state;
  x->server.max_held = 100000;
  shake_hands(x);
  says_much(x, "1");
  happened(x, "");
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\"}");
  happened(x, REFUSED("2", "the requests of this session use too much memory", "limits.session_held_bytes"));
  request_reply(x->held[0], STR("1"));
  assert_int_equal(x->s->held, 0);
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\"}");
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
}

static void sessions_of_one_principal_share_a_limit_that_small_requests_pass(void **state) {
  struct fixture *x = *state;
  x->server.intake.principal_limit = 500000;
  shake_hands(x);
  says_much(x, "1");
  happened(x, "");
  struct session *first = x->s;
  x->s = session_new(&x->server, &outlet, x, (struct client_identity){.principal = 3});
  says(x, HELLO("2025-11-25"));
  buf_reset(&x->out);
  says_much(x, "2");
  happened(x, REFUSED("2", "the requests in flight use too much memory", "limits.principal_held_bytes"));
  says(x, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"echo\"}");
  happened(x, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n");
  session_close(&x->s);
  x->s = first;
  request_reply(x->held[0], STR("1"));
  assert_int_equal(x->server.intake.used, 0);
  buf_reset(&x->out);
}

static void a_message_with_too_many_values_is_refused_before_it_takes_memory(void **state) {
  struct fixture *x = *state;
  struct fault f;
  x->server.request_limits.max_values = 8;
  str text = STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[1,2,3]}");
  struct request *r = request_parse(&x->server, text, &f);
  assert_non_null(r);
  request_discard(&x->server, r);
  text = STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[1,2,3,4]}");
  assert_null(request_parse(&x->server, text, &f));
  assert_int_equal(f.code, FAULT_LIMIT);
}

// ---- memory

static void ten_thousand_requests_live_in_the_memory_of_one(void **state) {
  struct fixture *x = *state;
  shake_hands(x);
  const struct request *only = NULL;
  for (int i = 0; i < 10000; i++) {
    says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\",\"params\":{\"a\":[1,2,3]}}");
    struct request *r = x->held[--x->held_count];
    if (!only) only = r;
    assert_ptr_equal(r, only);
    assert_true(r->arena.total <= 65536);
    assert_ptr_equal(r->msg.params, json_get(r->value, STR("params")));  // nothing of the last one is left
    request_reply(r, STR("{}"));
    assert_int_equal(x->server.free_count, 1);
    buf_reset(&x->out);
  }
  assert_true(x->server.scratch.cap < 65536);
}

static void the_memory_of_a_crowd_is_given_back(void **state) {
  enum { CROWD = 10000 };
  struct fixture *x = *state;
  shake_hands(x);
  for (int i = 0; i < CROWD; i++) says(x, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}");
  assert_int_equal(x->held_count, CROWD);
  for (int i = CROWD; i-- > 0;) {
    request_reply(x->held[i], STR("{}"));
    buf_reset(&x->out);
  }
  assert_true(list_empty(&x->s->requests));
  assert_in_range(x->server.free_count, 1, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(each_revision_is_answered_with_itself_and_others_with_the_latest),
      TEST(before_the_handshake_there_is_only_ping),
      TEST(a_malformed_initialize_may_be_mended),
      TEST(a_second_initialize_is_refused_and_changes_nothing),
      TEST(a_client_that_forgets_to_confirm_is_served_all_the_same),
      TEST(the_session_knows_what_its_client_can_do),
      TEST(an_id_comes_back_byte_for_byte),
      TEST(an_id_that_is_neither_string_nor_number_is_refused),
      TEST(a_batch_is_for_the_outlet_to_take_apart),
      TEST(what_is_no_json_or_too_large_never_becomes_a_request),
      TEST(a_request_keeps_its_own_copy_of_the_message),
      TEST(a_forwarded_reply_keeps_its_bytes_under_the_clients_id),
      TEST(a_request_may_ask_for_progress),
      TEST(a_request_may_let_go_of_its_connection_where_the_outlet_can),
      TEST(a_client_may_cancel_its_own_requests_by_id),
      TEST(a_cancellation_of_nothing_is_ignored),
      TEST(the_outlet_may_cancel_what_can_no_longer_be_answered),
      TEST(closing_a_session_cancels_everything_and_then_tells_the_surface),
      TEST(an_answer_may_be_the_end_of_the_session),
      TEST(a_reply_goes_to_whoever_asked),
      TEST(questions_fail_when_the_client_is_gone),
      TEST(a_session_gets_no_reply_that_is_meant_for_another),
      TEST(notifications_go_to_the_surface_except_those_of_the_protocol),
      TEST(a_session_has_only_so_many_requests_under_way),
      TEST(a_session_holds_only_so_much_memory_but_one_request_always_may),
      TEST(sessions_of_one_principal_share_a_limit_that_small_requests_pass),
      TEST(a_message_with_too_many_values_is_refused_before_it_takes_memory),
      TEST(ten_thousand_requests_live_in_the_memory_of_one),
      TEST(the_memory_of_a_crowd_is_given_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
