// SPDX-License-Identifier: Apache-2.0
// mcp/stateless: requests that stand for themselves, over a real server on loopback.
#include "http_world.h"

#include "callers_world.h"
#include "mcp/server/stateless.h"

enum { KEEPALIVE_MS = 15000, IDLE_MS = 60000 };

struct fixture {
  struct world w;
  struct callers_world role;
  struct buf events;
  struct stateless stateless;
  struct client c;
  int left_out;  // POSTs that were not for us
};

static void on_request(void *ctx, struct http_exchange *x) {
  struct fixture *f = ctx;
  struct fault fault;
  struct request *r = request_parse(&f->role.server, x->body, &fault);
  assert_non_null(r);
  if (stateless_takes(x, r)) {
    stateless_post(&f->stateless, x, r, (struct client_identity){.principal = 3});
    return;
  }
  f->left_out++;
  request_discard(&f->role.server, r);
  http_reply(x, 204, STR_NONE, STR_NONE, STR_NONE);
}

static int setup(void **state) {
  static const struct http_server_options opt = {
      .limits = {16384, 1 << 20},
      .max_connections = 64,
      .max_queued = 2 << 20,
      .head_ms = 1000,
      .body_ms = 1000,
      .idle_ms = 3600000,
      .write_ms = 30000,
  };
  struct fixture *x = MEM_NEW(struct fixture);
  world_open(&x->w, &opt, on_request, x);
  callers_world_open(&x->role, &x->w.loop);
  buf_init(&x->events, 4 << 20);
  stateless_init(&x->stateless, &x->role.server, KEEPALIVE_MS, IDLE_MS, &x->events);
  client_open(&x->c, &x->w);
  *state = x;
  return 0;
}

static int teardown(void **state) {
  struct fixture *x = *state;
  client_close(&x->c);
  stateless_done(&x->stateless);
  advance(&x->w, 100);  // streams that have ended go with their time
  world_close(&x->w);
  callers_world_close(&x->role);
  buf_done(&x->events);
  mem_free(x);
  return 0;
}

// ---- one exchange

static void post(struct client *c, const char *headers, const char *body) {
  struct buf b;
  buf_init(&b, 1 << 20);
  buf_printf(&b, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n%s\r\n%s", strlen(body), headers,
             body);
  client_send(c, buf_view(&b));
  buf_done(&b);
}

#define SAYS_VERSION "MCP-Protocol-Version: 2026-07-28\r\n"
#define SAYS(method) SAYS_VERSION "Mcp-Method: " method "\r\n"

// The answer has this status and this body; nothing follows.
static void expect_answer(struct client *c, int status, const char *body) {
  char line[32], end[16];
  snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
  expect(c, line);
  snprintf(end, sizeof end, "\r\n\r\n");
  expect_later(c, end);
  expect(c, body);
  expect_silence(c);
}

static void expect_error(struct client *c, int status, const char *id, int code, const char *message) {
  char body[1024];
  snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"%s\"}}", id, code,
           message);
  expect_answer(c, status, body);
}

#define OF_SERVER \
  "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"toolgate\"," \
  "\"title\":\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"}}"

// ---- answers

static void an_answer_is_plain_json_with_what_every_result_has(void **state) {
  struct fixture *x = *state;
  post(&x->c, SAYS("echo"), REQUEST("\"x\"", "echo", PLAIN));
  expect_answer(&x->c, 200, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{" OF_SERVER ",\"a\":1}}");
  post(&x->c, SAYS("server/discover"), REQUEST("1", "server/discover", PLAIN));
  expect_answer(&x->c, 200,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" OF_SERVER ",\"supportedVersions\":[\"2026-07-28\"],"
                "\"ttlMs\":0,\"cacheScope\":\"private\",\"capabilities\":{\"tools\":{}}}}");
  struct session *s = CONTAINER_OF(x->role.server.sessions.next, struct session, node);
  assert_int_equal(s->principal, 3);
}

static void methods_that_are_gone_are_unknown(void **state) {
  static const char *const methods[][2] = {
      {SAYS("initialize"), REQUEST("1", "initialize", PLAIN)},
      {SAYS("ping"), REQUEST("1", "ping", PLAIN)},
      {SAYS("nothing"), REQUEST("1", "nothing", PLAIN)},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < 3; i++) {
    post(&x->c, methods[i][0], methods[i][1]);
    expect_error(&x->c, 404, "1", RPC_METHOD_NOT_FOUND, "Method not found");
  }
}

static void codes_that_http_has_a_status_for_are_told_with_it(void **state) {
  static const struct {
    int code, status;
  } table[] = {{RPC_METHOD_NOT_FOUND, 404},
               {RPC_HEADER_MISMATCH, 400},
               {RPC_MISSING_CAPABILITY, 400},
               {RPC_UNSUPPORTED_VERSION, 400},
               {RPC_INVALID_PARAMS, 200},
               {RPC_INTERNAL_ERROR, 200},
               {7, 200}};
  struct fixture *x = *state;
  for (int i = 0; i < (int)(sizeof table / sizeof *table); i++) {
    post(&x->c, SAYS("hold"), REQUEST("1", "hold", PLAIN));
    wait_for(&x->w, &x->role.held_count, i + 1);
    request_fail(x->role.held[i], table[i].code, "no", STR_NONE);
    expect_error(&x->c, table[i].status, "1", table[i].code, "no");
  }
}

static void what_is_said_during_a_request_turns_its_answer_into_a_stream(void **state) {
  struct fixture *x = *state;
  post(&x->c, SAYS("tell"), REQUEST("1", "tell", PLAIN));
  expect(&x->c, "HTTP/1.1 200 ");
  expect_later(&x->c, "text/event-stream");
  expect_later(&x->c, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/told\"}\n\n");
  expect_later(&x->c, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" OF_SERVER "}}\n\n");
  expect_later(&x->c, "0\r\n\r\n");
  expect_silence(&x->c);
  // An error that comes then is told in the stream.
  post(&x->c, SAYS("hold"), REQUEST("2", "hold", PLAIN));
  wait_for(&x->w, &x->role.held_count, 1);
  session_notify(x->role.held[0]->session, x->role.held[0], STR("notifications/told"), STR_NONE);
  request_fail(x->role.held[0], RPC_METHOD_NOT_FOUND, "no", STR_NONE);
  expect(&x->c, "HTTP/1.1 200 ");
  expect_later(&x->c, "\"error\":{\"code\":-32601,\"message\":\"no\"}}\n\n");
  expect_later(&x->c, "0\r\n\r\n");
}

static void a_stream_that_is_quiet_is_kept_alive(void **state) {
  struct fixture *x = *state;
  post(&x->c, SAYS("subscriptions/listen"), REQUEST("1", "subscriptions/listen", PLAIN));
  wait_for(&x->w, &x->role.held_count, 1);
  expect_silence(&x->c);
  advance(&x->w, KEEPALIVE_MS);
  expect_later(&x->c, "\r\n\r\n");
  advance(&x->w, KEEPALIVE_MS);
  expect_later(&x->c, ":\n\n");
  // Nobody can come back to it: events have no ids.
  session_notify(x->role.held[0]->session, x->role.held[0], STR("notifications/told"), STR_NONE);
  expect_later(&x->c, "event: message\ndata: ");
}

// ---- headers and body

static void what_headers_repeat_must_be_what_the_body_says(void **state) {
#define NAMED \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"caf\u00e9\"," META(PLAIN) "}}"
#define READ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"a:b\"," META(PLAIN) "}}"
#define TASK "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t\"," META(PLAIN) "}}"
#define DISAGREES "differs from the body"
  static const struct {
    const char *headers, *body, *why;
  } table[] = {
      {"", REQUEST("1", "echo", PLAIN), "MCP-Protocol-Version is missing; it must repeat the body"},
      {"MCP-Protocol-Version: 2025-11-25\r\n", REQUEST("1", "echo", PLAIN), "MCP-Protocol-Version " DISAGREES},
      {SAYS_VERSION, REQUEST("1", "echo", PLAIN), "Mcp-Method is missing; it must repeat the body"},
      {SAYS("ECHO"), REQUEST("1", "echo", PLAIN), "Mcp-Method " DISAGREES},
      {SAYS("tools/call"), NAMED, "Mcp-Name is missing; it must repeat the body"},
      {SAYS("tools/call") "Mcp-Name: cafe\r\n", NAMED, "Mcp-Name " DISAGREES},
      {SAYS("tools/call") "Mcp-Name: =?base64?Y2Fm?=\r\n", NAMED, "Mcp-Name " DISAGREES},
      {SAYS("tools/call") "Mcp-Name: =?base64?Y2Fm6Q==?=\r\n", NAMED, "Mcp-Name has an invalid =?base64?…?= value"},
      {SAYS("tools/call") "Mcp-Name: =?base64?Y2Fmw6k?=\r\n", NAMED, "Mcp-Name has an invalid =?base64?…?= value"},
      {SAYS("resources/read"), READ, "Mcp-Name is missing; it must repeat the body"},
      {SAYS("tasks/get") "Mcp-Name: T\r\n", TASK, "Mcp-Name " DISAGREES},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char message[128];
    snprintf(message, sizeof message, "Header mismatch: %s", table[i].why);
    post(&x->c, table[i].headers, table[i].body);
    expect_error(&x->c, 400, "1", RPC_HEADER_MISMATCH, message);
  }
  assert_int_equal(x->role.opened, 0);
}

// The surface does not know these methods: that it is asked is all that counts.
static void headers_that_agree_let_a_request_through(void **state) {
  static const char *const table[][2] = {
      {SAYS("tools/call") "Mcp-Name: =?base64?Y2Fmw6k=?=\r\n", NAMED},
      {"mcp-protocol-version: \t2026-07-28 \r\nMCP-METHOD: tools/call\r\nmcp-name:   =?base64?Y2Fmw6k=?=  \r\n", NAMED},
      {SAYS("resources/read") "Mcp-Name: a:b\r\n", READ},
      {SAYS("tasks/get") "Mcp-Name: t\r\n", TASK},
      {SAYS("tools/call"), REQUEST("1", "tools/call", PLAIN)},  // names nothing: refused for that, elsewhere
      {SAYS("other") "Mcp-Name: any\r\n", REQUEST("1", "other", PLAIN)},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    post(&x->c, table[i][0], table[i][1]);
    expect_error(&x->c, 404, "1", RPC_METHOD_NOT_FOUND, "Method not found");
  }
}

static void a_revision_that_nobody_speaks_is_refused_once_header_and_body_agree(void **state) {
#define FOREIGN \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"_meta\":{" \
  "\"io.modelcontextprotocol/protocolVersion\":\"v9\"," PLAIN "}}}"
  struct fixture *x = *state;
  static const char refusal[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"Unsupported "
                                "protocol version: requests with _meta must use 2026-07-28\",\"data\":{\"supported\":"
                                "[\"2026-07-28\"],\"requested\":\"v9\"}}}";
  post(&x->c, "MCP-Protocol-Version: v9\r\nMcp-Method: echo\r\n", FOREIGN);
  expect_answer(&x->c, 400, refusal);
  post(&x->c, "", FOREIGN);
  expect_answer(&x->c, 400, refusal);
  post(&x->c, SAYS("echo"), FOREIGN);
  expect_error(&x->c, 400, "1", RPC_HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version " DISAGREES);
}

static void headers_that_repeat_arguments_are_kept_with_the_request(void **state) {
  struct fixture *x = *state;
  post(&x->c, SAYS("hold") "Mcp-Param-Region: eu \r\nMCP-PARAM-b: 1\r\nmcp-param-: none\r\nMcp-Param-b:\r\n",
       REQUEST("1", "hold", PLAIN));
  wait_for(&x->w, &x->role.held_count, 1);
  const struct request *r = x->role.held[0];
  assert_true(r->by_http);
  assert_int_equal(r->param_header_count, 3);
  assert_true(str_eq_nocase(r->param_headers[0].name, STR("region")) && str_eq(r->param_headers[0].value, STR("eu")));
  assert_true(str_eq_nocase(r->param_headers[1].name, STR("b")) && str_eq(r->param_headers[1].value, STR("1")));
  assert_true(str_eq_nocase(r->param_headers[2].name, STR("b")) && r->param_headers[2].value.n == 0);
  request_reply(x->role.held[0], STR("{}"));
}

// ---- whose it is

static void a_post_is_stateless_by_its_header_or_by_its_body(void **state) {
  static const char *const others[][2] = {
      {"", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{}}"},
      {"MCP-Protocol-Version: 2025-11-25\r\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}"},
      {"MCP-Protocol-Version: v9\r\n", "[" REQUEST("1", "echo", PLAIN) "]"},
  };
  struct fixture *x = *state;
  for (int i = 0; i < 3; i++) {
    post(&x->c, others[i][0], others[i][1]);
    expect_answer(&x->c, 204, "");
    assert_int_equal(x->left_out, i + 1);
  }
  post(&x->c, SAYS("echo"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{}}");
  expect_error(&x->c, 400, "1", RPC_INVALID_PARAMS,
               "Invalid params: io.modelcontextprotocol/protocolVersion in _meta must be a string");
  post(&x->c, SAYS("echo"), "[]");
  expect(&x->c, "HTTP/1.1 400 ");
  expect_later(&x->c, "\"id\":null,\"error\":{\"code\":-32600");
}

static void a_notification_is_accepted_and_forgotten(void **state) {
  struct fixture *x = *state;
  post(&x->c, SAYS("hold"), REQUEST("1", "hold", PLAIN));
  wait_for(&x->w, &x->role.held_count, 1);
  struct client other;
  client_open(&other, &x->w);
  post(&other, SAYS_VERSION,
       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
  expect_answer(&other, 202, "");
  happened(&x->role, "");
  client_close(&other);
  request_reply(x->role.held[0], STR("{}"));
}

static void a_refusal_has_the_id_if_it_can_be_one(void **state) {
  static const char *const ids[][2] = {
      {"\"a\\u0062\"", "\"a\\u0062\""}, {"1.50", "1.50"}, {"{}", "null"}, {"true", "null"}};
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    char body[128], want[64];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"echo\"}", ids[i][0]);
    snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":", ids[i][1]);
    post(&x->c, SAYS("echo"), body);
    expect(&x->c, "HTTP/1.1 400 ");
    expect_later(&x->c, want);
    expect_later(&x->c, "}}");
  }
}

// ---- ends

static void closing_the_connection_cancels_the_request(void **state) {
  struct fixture *x = *state;
  struct client other;
  client_open(&other, &x->w);
  post(&other, SAYS("hold"), REQUEST("5", "hold", ELICITS));
  wait_for(&x->w, &x->role.held_count, 1);
  struct session *s = x->role.held[0]->session;
  assert_int_equal(s->in_flight, 1);
  client_close(&other);
  wait_connections(&x->w, 1);
  some_turns(&x->w);
  happened(&x->role, "cancelled 5: the client closed the connection\n");
  assert_int_equal(s->in_flight, 0);
  assert_true(s->stream_closed);  // kept for the next
}

static void a_client_that_leaves_while_it_is_told_something_is_cancelled_too(void **state) {
  struct fixture *x = *state;
  struct client other;
  client_open(&other, &x->w);
  post(&other, SAYS("subscriptions/listen"), REQUEST("5", "subscriptions/listen", PLAIN));
  wait_for(&x->w, &x->role.held_count, 1);
  struct request *r = x->role.held[0];
  session_notify(r->session, r, STR("notifications/told"), STR_NONE);
  expect_later(&other, "notifications/told");
  client_close(&other);
  wait_for(&x->w, &x->role.closed, 1);
  assert_int_equal(x->role.server.shares.total, 0);
}

static void with_too_many_sessions_in_use_there_is_a_status_for_it(void **state) {
  struct fixture *x = *state;
  struct client busy[WORLD_SESSIONS];
  for (int i = 0; i < WORLD_SESSIONS; i++) {
    client_open(&busy[i], &x->w);
    post(&busy[i], SAYS("hold"), REQUEST("1", "hold", ELICITS));
    wait_for(&x->w, &x->role.held_count, i + 1);
  }
  post(&x->c, SAYS("echo"), REQUEST("1", "echo", PLAIN));
  expect_error(&x->c, 503, "1", RPC_INTERNAL_ERROR, "too many requests are in flight; try again later");
  request_reply(x->role.held[0], STR("{}"));
  post(&x->c, SAYS("echo"), REQUEST("1", "echo", PLAIN));
  expect(&x->c, "HTTP/1.1 200 ");
  for (int i = 0; i < WORLD_SESSIONS; i++) client_close(&busy[i]);
  wait_connections(&x->w, 1);
  some_turns(&x->w);
}

static void while_we_stop_nobody_begins_to_listen(void **state) {
  struct fixture *x = *state;
  struct client other;
  client_open(&other, &x->w);
  post(&other, SAYS("subscriptions/listen"), REQUEST("1", "subscriptions/listen", PLAIN));
  wait_for(&x->w, &x->role.held_count, 1);
  stateless_drain(&x->stateless);
  expect_answer(&other, 200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopped\":true}}");
  post(&other, SAYS("subscriptions/listen"), REQUEST("2", "subscriptions/listen", PLAIN));
  expect_error(&other, 503, "2", RPC_INTERNAL_ERROR, "shutting down");
  post(&other, SAYS("echo"), REQUEST("3", "echo", PLAIN));
  expect(&other, "HTTP/1.1 200 ");
  client_close(&other);
}

static void the_end_of_all_ends_the_streams(void **state) {
  struct fixture *x = *state;
  post(&x->c, SAYS("hold"), REQUEST("1", "hold", ELICITS));
  wait_for(&x->w, &x->role.held_count, 1);
  stateless_done(&x->stateless);
  happened(&x->role, "cancelled 1: the client is gone\n");
  expect_later(&x->c, "0\r\n\r\n");  // without an answer
  stateless_init(&x->stateless, &x->role.server, KEEPALIVE_MS, IDLE_MS, &x->events);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(an_answer_is_plain_json_with_what_every_result_has),
      TEST(methods_that_are_gone_are_unknown),
      TEST(codes_that_http_has_a_status_for_are_told_with_it),
      TEST(what_is_said_during_a_request_turns_its_answer_into_a_stream),
      TEST(a_stream_that_is_quiet_is_kept_alive),
      TEST(what_headers_repeat_must_be_what_the_body_says),
      TEST(headers_that_agree_let_a_request_through),
      TEST(a_revision_that_nobody_speaks_is_refused_once_header_and_body_agree),
      TEST(headers_that_repeat_arguments_are_kept_with_the_request),
      TEST(a_post_is_stateless_by_its_header_or_by_its_body),
      TEST(a_notification_is_accepted_and_forgotten),
      TEST(a_refusal_has_the_id_if_it_can_be_one),
      TEST(closing_the_connection_cancels_the_request),
      TEST(a_client_that_leaves_while_it_is_told_something_is_cancelled_too),
      TEST(with_too_many_sessions_in_use_there_is_a_status_for_it),
      TEST(while_we_stop_nobody_begins_to_listen),
      TEST(the_end_of_all_ends_the_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
