// SPDX-License-Identifier: Apache-2.0
// mcp/link over Streamable HTTP and HTTP+SSE, against a small server on the same loop.
#include "link_http_world.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mcp/client/link_impl.h"
#include "mcp/gateway_chain.h"

// ---- the handshake

static void the_handshake_takes_a_session_and_names_it_from_then_on(void **state) {
  struct fixture *f = *state;
  start_ready(f);
  is_asked(f, OPENED);
  assert_string_equal(link_revision(f->o.link)->name, "2025-11-25");
  assert_true(str_eq(json_span(link_server_capabilities(f->o.link)), STR("{\"tools\":{}}")));
  assert_null(link_instructions(f->o.link).p);
  struct ask a;
  f->call = answer_body;
  f->body = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}}";
  ask(f, &a, 'a');
  happens(&f->o, "a got {\"a\":1}\n");
  is_asked(f, "POST m" KNOWN);
  link_free(&f->o.link);
  is_asked(f, "DELETE" KNOWN);
}

static void old_welcome(struct fixture *f, struct http_exchange *x) {
  answer_json(x, HELLO("1", "2025-03-26"));
}

static void a_server_without_sessions_of_an_older_revision_is_not_told_of_either(void **state) {
  struct fixture *f = *state;
  f->hello = old_welcome;
  start_ready(f);
  is_asked(f, "POST initialize\nPOST notifications/initialized\nGET\n");
  link_free(&f->o.link);
  some_turns(&f->o.w);
  is_asked(f, "");
}

static void welcome_by_events(struct fixture *f, struct http_exchange *x) {
  begin_events(x, "Mcp-Session-Id: s1\r\n");
  event(x, "id: 0\ndata: \n\n");
  event(x, "event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"early\"}\n\n");
  event(x, "data: " HELLO("1", "2025-11-25") "\n\n");
  http_stream_end(x);
}

static void the_handshake_may_be_answered_by_events(void **state) {
  struct fixture *f = *state;
  f->hello = welcome_by_events;
  start_ready(f);
  is_asked(f, OPENED);
  happens(&f->o, "told early on a call's stream\n");
}

static void a_refused_handshake_says_why_and_whether_to_try_the_older_transport(void **state) {
  static const struct {
    int status;
    const char *body;
    enum fault_code code;
    const char *text;
    bool wrong_transport;
  } table[] = {
      {400, NULL, FAULT_UPSTREAM_ERROR, "answered HTTP 400", true},
      {404, NULL, FAULT_UPSTREAM_ERROR, "answered HTTP 404", true},
      {405, NULL, FAULT_UPSTREAM_ERROR, "answered HTTP 405", true},
      {406, NULL, FAULT_UPSTREAM_ERROR, "answered HTTP 406", true},
      {415, NULL, FAULT_UPSTREAM_ERROR, "answered HTTP 415", true},
      {401, NULL, FAULT_AUTH_FAILED, "it needs credentials", false},
      {403, NULL, FAULT_PERMISSION_DENIED, "answered HTTP 403", false},
      {302, NULL, FAULT_UPSTREAM_ERROR, "answered HTTP 302", false},
      {429, NULL, FAULT_RATE_LIMITED, "answered HTTP 429", false},
      {500, NULL, FAULT_UPSTREAM_UNAVAILABLE, "answered HTTP 500", false},
      {503, "", FAULT_UPSTREAM_UNAVAILABLE, "answered HTTP 503", false},
      {403, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no entry\"}}", FAULT_UPSTREAM_ERROR,
       "refused initialize: no entry", false},
      {400, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"whose?\"}}", FAULT_UPSTREAM_ERROR,
       "answered HTTP 400", true},
      {200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}", FAULT_UPSTREAM_ERROR,
       "refused initialize: no", false},
      {200, HELLO("1", "1999-12-31"), FAULT_PROTOCOL, "speaks MCP revision \"1999-12-31\"", false},
      {200, HELLO("7", "2025-11-25"), FAULT_UPSTREAM_ERROR, "a body that is not a JSON-RPC reply", false},
      {200, "not JSON", FAULT_UPSTREAM_ERROR, "a body that is not a JSON-RPC reply", false},
      {200, NULL, FAULT_UPSTREAM_ERROR, "without a JSON body", false},
      {202, NULL, FAULT_UPSTREAM_ERROR, "without a JSON body", false},
  };
  struct fixture *f = *state;
  f->hello = answer_status;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    f->status = table[i].status;
    f->body = table[i].body;
    start(f);
    wait_settled(&f->o);
    assert_int_equal(f->o.ready, 0);
    assert_why(&f->o, table[i].code, table[i].text);
    if (table[i].status == 403) assert_null(strstr(f->o.why.message, "credentials"));  // it has some, of no avail
    if (f->o.wrong_transport != table[i].wrong_transport) fail_msg("%d: the other transport?", table[i].status);
    is_asked(f, "POST initialize\n");
  }
}

static void nobody_there_and_no_answer_are_told_apart(void **state) {
  struct fixture *f = *state;
  f->hello = hold;
  start(f);
  held(f, 0);
  advance(&f->o.w, START_MS + 100);
  assert_int_equal(f->o.closed, 1);
  assert_why(&f->o, FAULT_UPSTREAM_TIMEOUT, "did not complete the handshake");
  wait_for(&f->o.w, &f->aborts, 1);  // and the connection is not left behind
  http_server_free(&f->o.w.server);
  some_turns(&f->o.w);
  http_origin_free(&f->origin);
  f->origin = http_origin_new(&f->o.w.loop, &f->url, NULL, NULL);
  start(f);
  wait_settled(&f->o);
  assert_why(&f->o, FAULT_UPSTREAM_UNAVAILABLE, "");
  assert_false(f->o.wrong_transport);
}

// ---- calls

static void start_quiet(struct fixture *f) {
  start_ready(f);
  is_asked(f, OPENED);
}

static void a_call_may_be_answered_by_events_that_say_more(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  struct ask a;
  ask(f, &a, 'a');
  struct http_exchange *x = held(f, 0);
  begin_events(x, "");
  event(x, ": comment\n\nevent: other\ndata: ignored\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
  event(x, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2}}\n\n");
  event(x, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n"
           "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":2,");
  happens(&f->o, "told n on a call's stream\nasked roots/list on a call's stream\n");
  assert_int_equal(a.progress, 1);
  is_asked(f, "POST m" KNOWN "POST {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"ok\":true}}" KNOWN);
  event(x, "\ndata: \"result\":2}\n\n");
  happens(&f->o, "a got 2\n");
  http_stream_end(x);
  some_turns(&f->o.w);
  assert_true(link_ready(f->o.link));
}

static void an_answer_that_is_none_fails_the_call_alone(void **state) {
  static const struct {
    int status;
    const char *body, *want;
  } table[] = {
      {200, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", "a failed UPSTREAM_ERROR\n"},
      {200, "{\"jsonrpc\":", "a failed UPSTREAM_ERROR\n"},
      {202, NULL, "a failed UPSTREAM_ERROR\n"},
      {408, NULL, "a failed UPSTREAM_TIMEOUT\n"},
      {504, NULL, "a failed UPSTREAM_TIMEOUT\n"},
      {407, NULL, "a failed AUTH_FAILED\n"},
      {502, NULL, "a failed UPSTREAM_UNAVAILABLE\n"},
      {503, NULL, "a failed UPSTREAM_UNAVAILABLE\n"},
      {500, NULL, "a failed UPSTREAM_ERROR\n"},
      {501, NULL, "a failed UPSTREAM_ERROR\n"},
      {505, NULL, "a failed UPSTREAM_ERROR\n"},
      {403, "nothing", "a failed PERMISSION_DENIED\n"},
  };
  struct fixture *f = *state;
  start_quiet(f);
  f->call = answer_status;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct ask a;
    f->status = table[i].status;
    f->body = table[i].body;
    ask(f, &a, 'a');
    happens(&f->o, table[i].want);
  }
  struct ask b;
  char text[128];
  ask_init(&b, &f->o, 'b');
  link_call_begin(f->o.link, &b.call, 1000, 0);
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":5}}",
           (unsigned long long)b.call.wait.id);
  f->status = 400;  // the error of JSON-RPC says more than that of HTTP
  f->body = text;
  link_call_send(&b.call, STR("m"), STR_NONE);
  happens(&f->o, "b got {\"code\":5}\n");
  assert_true(link_ready(f->o.link));
}

static void an_answer_that_is_too_large_fails_the_call_alone(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  char *large = mem_alloc(2 * MAX_MESSAGE + 1);
  memset(large, ' ', 2 * MAX_MESSAGE);
  large[2 * MAX_MESSAGE] = 0;
  struct ask a, b;
  f->call = answer_body;
  f->body = large;
  ask(f, &a, 'a');
  happens(&f->o, "a failed UPSTREAM_ERROR\n");
  f->call = hold;
  ask(f, &b, 'b');
  struct http_exchange *x = held(f, 0);
  begin_events(x, "");
  event(x, "data: ");
  event(x, large);
  happens(&f->o, "b failed UPSTREAM_ERROR\n");
  wait_for(&f->o.w, &f->aborts, 1);
  assert_true(link_ready(f->o.link));
  mem_free(large);
}

static void a_call_that_was_given_up_lets_go_of_its_connection(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  struct ask a;
  ask(f, &a, 'a');
  held(f, 0);
  is_asked(f, "POST m" KNOWN);
  link_call_cancel(&a.call, STR("enough"));
  wait_for(&f->o.w, &f->aborts, 1);
  is_asked(f, "POST notifications/cancelled" KNOWN);
  ask(f, &a, 'b');
  begin_events(held(f, 1), "");
  is_asked(f, "POST m" KNOWN);
  advance(&f->o.w, 2100);
  happens(&f->o, "b failed UPSTREAM_TIMEOUT\n");
  wait_for(&f->o.w, &f->aborts, 2);
  is_asked(f, "POST notifications/cancelled" KNOWN);
  assert_int_equal(a.done, 1);
}

// ---- streams that end early

static void a_stream_that_ends_early_without_ids_fails_its_call(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  struct ask a;
  ask(f, &a, 'a');
  begin_events(held(f, 0), "");
  event(held(f, 0), "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
  http_stream_end(held(f, 0));
  happens(&f->o, "told n on a call's stream\na failed UPSTREAM_UNAVAILABLE\n");
  is_asked(f, "POST m" KNOWN);
  assert_int_equal(a.polled, 0);
}

static void a_stream_that_ends_early_is_taken_up_where_it_was(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  f->get = hold;
  struct ask a;
  ask(f, &a, 'a');
  begin_events(held(f, 0), "");
  event(held(f, 0), "id: e-1\nretry: 300\ndata: \n\n");
  http_stream_end(held(f, 0));
  is_asked(f, "POST m" KNOWN);
  wait_for(&f->o.w, &a.polled, 1);
  advance(&f->o.w, 280);  // when the server asked for it, and not before
  is_asked(f, "");
  advance(&f->o.w, 40);
  is_asked(f, "GET mcp-session-id=s1 mcp-protocol-version=2025-11-25 last-event-id=e-1\n");
  begin_events(held(f, 1), "");
  event(held(f, 1), "id: e-2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
  happens(&f->o, "told n on a call's stream\n");
  http_exchange_drop(held(f, 1));  // not even ended
  some_turns(&f->o.w);
  advance(&f->o.w, 1100);
  is_asked(f, "GET mcp-session-id=s1 mcp-protocol-version=2025-11-25 last-event-id=e-2\n");
  begin_events(held(f, 2), "");
  event(held(f, 2), "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":3}\n\n");
  happens(&f->o, "a got 3\n");
  http_stream_end(held(f, 2));
  advance(&f->o.w, 60000);
  is_asked(f, "");
}

static void a_server_may_have_its_client_poll_for_as_long_as_the_call_may_take(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  f->get = hold;
  struct ask a;
  ask_init(&a, &f->o, 'a');
  link_call_begin(f->o.link, &a.call, 60000, 0);
  link_call_send(&a.call, STR("m"), STR_NONE);
  is_asked(f, "POST m" KNOWN);
  for (int i = 0; i < 12; i++) {
    begin_events(held(f, i), "");
    event(held(f, i), "id: e\nretry: 300\ndata: \n\n");
    http_stream_end(held(f, i));
    some_turns(&f->o.w);
    advance(&f->o.w, 280);  // always the time that the server asked for
    is_asked(f, "");
    advance(&f->o.w, 40);
    is_asked(f, "GET mcp-session-id=s1 mcp-protocol-version=2025-11-25 last-event-id=e\n");
  }
  begin_events(held(f, 12), "");
  event(held(f, 12), "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":3}\n\n");
  happens(&f->o, "a got 3\n");
}

static void a_stream_that_cannot_be_taken_up_again_fails_its_call_in_the_end(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  struct ask a;
  for (int i = 0; i < 2; i++) {
    f->get = i == 0 ? answer_status : drop;
    f->status = 503;
    ask_init(&a, &f->o, 'a');
    link_call_begin(f->o.link, &a.call, 0, 0);
    link_call_send(&a.call, STR("m"), STR_NONE);
    begin_events(held(f, i), "");
    event(held(f, i), "id: 1\ndata: \n\n");
    http_stream_end(held(f, i));
    for (uint64_t until = real_ms() + DEADLINE_MS; !a.done;) {
      advance(&f->o.w, 1000);
      turn(&f->o.w, -1, until);
    }
    assert_int_equal(a.fault.code, FAULT_UPSTREAM_UNAVAILABLE);
    assert_true(link_ready(f->o.link));
  }
}

static void a_stream_that_stays_after_its_answer_is_let_go(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  struct ask a;
  ask(f, &a, 'a');
  begin_events(held(f, 0), "");
  event(held(f, 0), "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":3}\n\n");
  happens(&f->o, "a got 3\n");
  advance(&f->o.w, 4000);
  assert_int_equal(f->aborts, 0);
  advance(&f->o.w, 2000);
  wait_for(&f->o.w, &f->aborts, 1);
}

// ---- sessions that are lost

static void a_session_that_the_server_forgot_closes_the_link(void **state) {
  struct fixture *f = *state;
  static const struct {
    int status;
    const char *body;
  } table[] = {
      {404, NULL},
      {404, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32001,\"message\":\"Session not found\"}}"},
  };
  for (int i = 0; i < 2; i++) {
    struct ask other, a;
    f->call = hold;
    start_quiet(f);
    ask(f, &other, 'o');
    held(f, i);
    f->call = answer_status;
    f->status = table[i].status;
    f->body = table[i].body;
    ask(f, &a, 'a');
    happens(&f->o, "closed\na failed UPSTREAM_SESSION_LOST\no failed UPSTREAM_UNAVAILABLE\n");
    assert_why(&f->o, FAULT_UPSTREAM_SESSION_LOST, "has ended its session");
    is_asked(f, "POST m" KNOWN "POST m" KNOWN);  // and no DELETE
  }
}

static void a_notification_that_the_server_does_not_like_ends_nothing(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  struct ask a;
  ask(f, &a, 'a');
  held(f, 0);
  f->other = 400;
  link_notify(f->o.link, STR("n"), STR_NONE);
  is_asked(f, "POST m" KNOWN "POST n" KNOWN);
  assert_true(link_ready(f->o.link));
  answer_json(held(f, 0), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":1}");
  happens(&f->o, "a got 1\n");
}

// Many servers name the type of what they do not send.
static void an_empty_answer_to_a_notification_is_nothing_to_complain_of(void **state) {
  struct fixture *f = *state;
  int fd = memfd_create("log", MFD_CLOEXEC);
  f->o.w.log = (struct log){fd, LOG_WARN, &f->o.w.clock};
  f->type = STR("application/json");
  start_ready(f);
  link_notify(f->o.link, STR("n"), STR_NONE);
  is_asked(f, OPENED "POST n" KNOWN);
  some_turns(&f->o.w);
  assert_int_equal(lseek(fd, 0, SEEK_END), 0);
  f->o.w.log = (struct log){-1, LOG_OFF, NULL};
  close(fd);
}

static void the_owner_hears_when_a_server_is_out_of_reach_and_when_it_is_back(void **state) {
  struct fixture *f = *state;
  start_quiet(f);
  struct ask a;
  http_server_free(&f->o.w.server);
  ask(f, &a, 'a');
  happens(&f->o, "out of reach\na failed UPSTREAM_UNAVAILABLE\n");
  ask(f, &a, 'b');
  happens(&f->o, "b failed UPSTREAM_UNAVAILABLE\n");  // it is told once
  serve(f);
  f->call = answer_body;
  f->body = "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":1}";
  ask(f, &a, 'c');
  happens(&f->o, "in reach again\nc got 1\n");

  http_server_free(&f->o.w.server);
  ask(f, &a, 'd');
  happens(&f->o, "out of reach\nd failed UPSTREAM_UNAVAILABLE\n");
  serve(f);
  f->o.free_when_told = true;
  ask(f, &a, 'e');
  happens(&f->o, "in reach again\ne failed SHUTTING_DOWN\n");
  assert_null(f->o.link);
}

static void without_a_session_404_is_an_answer_like_any_other(void **state) {
  struct fixture *f = *state;
  f->hello = old_welcome;
  start_ready(f);
  f->call = answer_status;
  f->status = 404;
  struct ask a;
  ask(f, &a, 'a');
  happens(&f->o, "a failed UPSTREAM_ERROR\n");
  assert_true(link_ready(f->o.link));
}

// ---- the server speaks by itself

static void the_listening_stream_is_opened_again_when_it_ends(void **state) {
  struct fixture *f = *state;
  f->get = hold;
  start_ready(f);
  is_asked(f, OPENED);
  begin_events(held(f, 0), "");
  event(held(f, 0), "id: 5\nretry: 200\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
  event(held(f, 0), "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n");
  happens(&f->o, "told n\n");
  is_asked(f, "POST {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}" KNOWN);
  http_stream_end(held(f, 0));
  some_turns(&f->o.w);
  is_asked(f, "");
  advance(&f->o.w, 300);
  is_asked(f, "GET mcp-session-id=s1 mcp-protocol-version=2025-11-25 last-event-id=5\n");
  http_reply(held(f, 1), 500, STR_NONE, STR_NONE, STR_NONE);
  some_turns(&f->o.w);
  advance(&f->o.w, 5000);  // trouble passes
  is_asked(f, "GET mcp-session-id=s1 mcp-protocol-version=2025-11-25 last-event-id=5\n");
  http_reply(held(f, 2), 404, STR_NONE, STR_NONE, STR_NONE);  // it has no such stream, or forgot us: a POST will tell
  some_turns(&f->o.w);
  advance(&f->o.w, 60000);
  is_asked(f, "");
  assert_true(link_ready(f->o.link));
}

static void a_server_without_a_listening_stream_is_not_asked_again(void **state) {
  struct fixture *f = *state;
  start_ready(f);
  is_asked(f, OPENED);
  for (int i = 0; i < 10; i++) advance(&f->o.w, 10000);
  is_asked(f, "");
  assert_true(link_ready(f->o.link));
}

static void a_refused_confirmation_closes_the_link(void **state) {
  struct fixture *f = *state;
  static const struct {
    int status;
    enum fault_code code;
    const char *text;
  } table[] = {
      {400, FAULT_UPSTREAM_ERROR, "answered HTTP 400 to notifications/initialized"},
      {500, FAULT_UPSTREAM_ERROR, "answered HTTP 500 to notifications/initialized"},
      {404, FAULT_UPSTREAM_SESSION_LOST, "has ended its session"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    f->confirm = table[i].status;
    start(f);
    wait_settled(&f->o);
    assert_int_equal(f->o.ready, 0);
    assert_why(&f->o, table[i].code, table[i].text);
    assert_false(f->o.wrong_transport);
    is_asked(f, "POST initialize\nPOST notifications/initialized" KNOWN);
  }
}

static void welcome_at_length(struct fixture *f, struct http_exchange *x) {
  char headers[1024];
  snprintf(headers, sizeof headers, "Mcp-Session-Id: %0*d\r\n", 200, 1);
  http_reply(x, 200, str_of(headers), STR("application/json"), str_of(HELLO("1", "2025-11-25")));
}

// Opens a link whose configured headers leave little of LINK_HEAD_MAX to others.
static void open_with_large_headers(struct fixture *f, const struct link_options *opt, struct buf *headers) {
  struct http_server_options wide = server_options;
  struct fault fault;
  uint16_t port;
  wide.limits.max_head = 2 * LINK_HEAD_MAX;
  http_server_free(&f->o.w.server);
  f->o.w.server = http_server_new(&f->o.w.loop, &wide, on_request, f);
  assert_true(http_server_listen(f->o.w.server, STR("127.0.0.1"), f->o.w.port, &port, &fault));
  buf_init(headers, LINK_HEAD_MAX);
  buf_printf(headers, "X-Key: k\r\nX-Large: %0*d\r\n", LINK_HEAD_MAX - 350, 1);
  f->o.link = link_new_http(opt, f->origin, &f->url, buf_view(headers), &owner_events, &f->o);
  link_open(f->o.link);
  wait_settled(&f->o);
}

// The session's id and the revision have no room any more beside the headers that are configured.
static void a_confirmation_whose_headers_are_too_large_is_not_sent(void **state) {
  struct fixture *f = *state;
  struct link_options opt = link_options(&f->o);
  struct buf headers;
  f->hello = welcome_at_length;
  open_with_large_headers(f, &opt, &headers);
  assert_int_equal(f->o.ready, 0);
  assert_int_equal(f->o.why.code, FAULT_LIMIT);
  is_asked(f, "POST initialize\n");
  buf_done(&headers);
}

// The ids of gateways that have become clients meanwhile have no room any more.
static void a_notification_whose_headers_are_too_large_is_not_sent(void **state) {
  struct fixture *f = *state;
  struct link_options opt = link_options(&f->o);
  struct chain chain;
  struct chain_marks marks = {0};
  struct fault fault;
  struct buf headers;
  struct ask a;
  assert_true(chain_init(&chain, &rand_system, STR_NONE, STR_NONE, &fault));
  opt.chain = &chain;
  opt.marks = &marks;
  open_with_large_headers(f, &opt, &headers);
  assert_int_equal(f->o.ready, 1);
  is_asked(f, OPENED);
  for (int i = 0; i < CHAIN_SEEN; i++) {
    char id[CHAIN_ID + 1];
    snprintf(id, sizeof id, "%016x", i + 1);
    assert_true(chain_note(&marks, &chain, str_of(id), loop_now(&f->o.w.loop)));
  }
  link_notify(f->o.link, STR("notifications/progress"), STR_NONE);
  ask(f, &a, 'a');
  assert_int_equal(a.fault.code, FAULT_LIMIT);
  memset(&marks, 0, sizeof marks);
  link_notify(f->o.link, STR("notifications/progress"), STR_NONE);
  is_asked(f, "POST notifications/progress" KNOWN);
  link_free(&f->o.link);
  buf_done(&headers);
}

static void a_stream_that_is_held_up_goes_on_where_it_was(void **state) {
  struct fixture *f = *state;
  f->get = hold;
  start_ready(f);
  begin_events(held(f, 0), "");
  event(held(f, 0), "data: {\"jsonrpc\":\"2.0\",\"method\":\"1\"}\n\n");
  happens(&f->o, "told 1\n");
  link_flow(f->o.link, false);
  event(held(f, 0), "data: {\"jsonrpc\":\"2.0\",\"method\":\"2\"}\n\n");
  some_turns(&f->o.w);
  happens(&f->o, "");
  link_flow(f->o.link, true);
  happens(&f->o, "told 2\n");
}

static void a_link_may_be_freed_in_any_of_its_callbacks(void **state) {
  struct fixture *f = *state;
  f->o.free_when_ready = true;
  start(f);
  wait_for(&f->o.w, &f->o.ready, 1);
  assert_null(f->o.link);
  f->o.free_when_ready = false;

  for (int i = 0; i < 2; i++) {  // by what comes on a call's stream, with more behind it
    struct ask a;
    f->o.free_when_told = i == 0;
    start_ready(f);
    ask(f, &a, 'a');
    a.free_link = i == 1;
    begin_events(held(f, i), "");
    event(
        held(f, i),
        i == 0
            ? "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n"
            : "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":1}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
    happens(&f->o, i == 0 ? "told n on a call's stream\na failed SHUTTING_DOWN\n" : "a got 1\n");
    assert_null(f->o.link);
  }
  f->call = answer_status;
  static const int statuses[] = {200, 202, 404, 500};
  for (size_t i = 0; i < 4; i++) {  // by the end of a call
    struct ask a;
    f->status = statuses[i];
    f->body = i == 0 ? "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":1}" : NULL;
    start_ready(f);
    ask(f, &a, 'a');
    a.free_link = true;
    wait_for(&f->o.w, &a.done, 1);
    assert_null(f->o.link);
  }
}

// ---- HTTP+SSE

static void start_sse(struct fixture *f) {
  struct link_options opt = link_options(&f->o);
  f->o.ready = f->o.closed = 0;
  f->o.link = link_new_sse(&opt, f->origin, &f->url, STR("X-Key: k\r\n"), &owner_events, &f->o);
  link_open(f->o.link);
}

static void accept_call(struct fixture *f, struct http_exchange *x) {
  http_reply(x, 202, STR_NONE, STR_NONE, STR("Accepted"));
}

// Gives the stream.
static struct http_exchange *start_sse_ready(struct fixture *f) {
  f->get = hold;
  f->hello = f->call = accept_call;
  start_sse(f);
  struct http_exchange *x = held(f, f->held_count);
  begin_events(x, "");
  event(x, "event: endpoint\ndata: /messages?sessionId=7\n\n");
  is_asked(f, "GET\nPOST /messages?sessionId=7 initialize\n");
  event(x, "event: message\ndata: " HELLO("1", "2024-11-05") "\n\n");
  wait_ready(&f->o);
  is_asked(f, "POST /messages?sessionId=7 notifications/initialized\n");
  return x;
}

static void over_sse_everything_comes_on_one_stream(void **state) {
  struct fixture *f = *state;
  struct http_exchange *x = start_sse_ready(f);
  assert_string_equal(link_revision(f->o.link)->name, "2024-11-05");
  struct ask a;
  ask(f, &a, 'a');
  is_asked(f, "POST /messages?sessionId=7 m\n");
  event(x, "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":5}\n\n");
  event(x, "event: endpoint\ndata: /other\n\n");  // once is enough
  happens(&f->o, "told n\na got 5\n");
  f->call = answer_status;
  f->status = 500;
  ask(f, &a, 'c');
  happens(&f->o, "c failed UPSTREAM_ERROR\n");
  assert_true(link_ready(f->o.link));
  f->call = accept_call;
  ask(f, &a, 'd');
  http_stream_end(x);
  happens(&f->o, "closed\nd failed UPSTREAM_UNAVAILABLE\n");
}

static void an_sse_server_that_forgot_us_closes_the_link(void **state) {
  struct fixture *f = *state;
  start_sse_ready(f);
  struct ask a;
  f->call = answer_status;
  f->status = 404;
  ask(f, &a, 'b');
  happens(&f->o, "closed\nb failed UPSTREAM_SESSION_LOST\n");
}

static void the_endpoint_of_sse_is_on_its_own_origin(void **state) {
  struct fixture *f = *state;
  char absolute[128];
  snprintf(absolute, sizeof absolute, "http://127.0.0.1:%u/abs?x=1", f->o.w.port);
  const struct {
    const char *uri, *asked;  // NULL: refused
  } table[] = {
      {"/messages", "GET\nPOST /messages initialize\n"},
      {"messages?a=b", "GET\nPOST /messages?a=b initialize\n"},
      {absolute, "GET\nPOST /abs?x=1 initialize\n"},
      {"http://127.0.0.1:1/abs", NULL},
      {"http://evil.example/abs", NULL},
      {"//evil.example/abs", NULL},
      {"/a b", NULL},
      {"/a#b", NULL},
      {"", NULL},
      {"/\xc3\xa4", NULL},
  };
  f->get = hold;
  f->hello = accept_call;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char text[256];
    start_sse(f);
    struct http_exchange *x = held(f, f->held_count);
    begin_events(x, "");
    snprintf(text, sizeof text, "event: endpoint\ndata: %s\n\n", table[i].uri);
    event(x, text);
    if (!table[i].asked) wait_closed(&f->o);
    if (!table[i].asked) assert_why(&f->o, FAULT_PROTOCOL, "on its own origin");
    is_asked(f, table[i].asked ? table[i].asked : "GET\n");
    link_free(&f->o.link);
    some_turns(&f->o.w);
  }
}

static void sse_that_is_none_closes_the_link(void **state) {
  struct fixture *f = *state;
  f->get = answer_status;
  f->status = 405;
  start_sse(f);
  wait_closed(&f->o);
  assert_why(&f->o, FAULT_UPSTREAM_ERROR, "answered HTTP 405");
  f->status = 200;
  f->body = "{}";
  start_sse(f);
  wait_closed(&f->o);
  assert_why(&f->o, FAULT_UPSTREAM_ERROR, "did not answer with an event stream");
  f->get = hold;
  start_sse(f);
  begin_events(held(f, 0), "");
  advance(&f->o.w, START_MS + 100);
  assert_int_equal(f->o.closed, 1);
  assert_why(&f->o, FAULT_UPSTREAM_TIMEOUT, "");
}

static void a_link_over_sse_may_be_freed_in_its_callbacks(void **state) {
  struct fixture *f = *state;
  struct http_exchange *x = start_sse_ready(f);
  f->o.free_when_told = true;
  event(x, "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
  happens(&f->o, "told n\n");
  assert_null(f->o.link);
  f->o.free_when_told = false;
  x = start_sse_ready(f);
  struct ask a;
  f->call = answer_status;
  f->status = 400;
  ask(f, &a, 'a');
  a.free_link = true;
  happens(&f->o, "a failed UPSTREAM_ERROR\n");
  assert_null(f->o.link);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      TEST(the_handshake_takes_a_session_and_names_it_from_then_on),
      TEST(a_server_without_sessions_of_an_older_revision_is_not_told_of_either),
      TEST(the_handshake_may_be_answered_by_events),
      TEST(a_refused_handshake_says_why_and_whether_to_try_the_older_transport),
      TEST(nobody_there_and_no_answer_are_told_apart),
      TEST(a_call_may_be_answered_by_events_that_say_more),
      TEST(an_answer_that_is_none_fails_the_call_alone),
      TEST(an_answer_that_is_too_large_fails_the_call_alone),
      TEST(a_call_that_was_given_up_lets_go_of_its_connection),
      TEST(a_stream_that_ends_early_without_ids_fails_its_call),
      TEST(a_stream_that_ends_early_is_taken_up_where_it_was),
      TEST(a_server_may_have_its_client_poll_for_as_long_as_the_call_may_take),
      TEST(a_stream_that_cannot_be_taken_up_again_fails_its_call_in_the_end),
      TEST(a_stream_that_stays_after_its_answer_is_let_go),
      TEST(a_session_that_the_server_forgot_closes_the_link),
      TEST(a_notification_that_the_server_does_not_like_ends_nothing),
      TEST(an_empty_answer_to_a_notification_is_nothing_to_complain_of),
      TEST(the_owner_hears_when_a_server_is_out_of_reach_and_when_it_is_back),
      TEST(without_a_session_404_is_an_answer_like_any_other),
      TEST(the_listening_stream_is_opened_again_when_it_ends),
      TEST(a_server_without_a_listening_stream_is_not_asked_again),
      TEST(a_refused_confirmation_closes_the_link),
      TEST(a_confirmation_whose_headers_are_too_large_is_not_sent),
      TEST(a_notification_whose_headers_are_too_large_is_not_sent),
      TEST(a_stream_that_is_held_up_goes_on_where_it_was),
      TEST(a_link_may_be_freed_in_any_of_its_callbacks),
      TEST(over_sse_everything_comes_on_one_stream),
      TEST(an_sse_server_that_forgot_us_closes_the_link),
      TEST(the_endpoint_of_sse_is_on_its_own_origin),
      TEST(sse_that_is_none_closes_the_link),
      TEST(a_link_over_sse_may_be_freed_in_its_callbacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
