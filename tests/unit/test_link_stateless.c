// SPDX-License-Identifier: Apache-2.0
// mcp/link over Streamable HTTP: finding out the era of a server, and servers of the revision without a handshake.
#include "link_http_world.h"

#define FOUND \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2025-11-25\"," \
  "\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"instructions\":\"be \\u006bind\"}}"
#define REFUSED(code, data) \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":" code ",\"message\":\"not like this\"" data "}}"
#define SUPPORTS(list) ",\"data\":{\"supported\":" list ",\"requested\":\"2026-07-28\"}"

#define MODERN " mcp-protocol-version=2026-07-28"
#define PROBED "POST server/discover" MODERN " mcp-method=server/discover\n"
#define CALLED "POST m" MODERN " mcp-method=m\n"

static void found(struct fixture *f, struct http_exchange *x) {
  answer_json(x, FOUND);
}

// The handshake is answered to whichever request it was.
static void welcome_second(struct fixture *f, struct http_exchange *x) {
  http_reply(x, 200, STR("Mcp-Session-Id: s1\r\n"), STR("application/json"), str_of(HELLO("2", "2025-11-25")));
}

static int setup_unknown(void **state) {
  setup(state);
  struct fixture *f = *state;
  f->o.era = LINK_ERA_UNKNOWN;
  f->discover = found;
  f->hello = welcome_second;
  return 0;
}

static void start_stateless(struct fixture *f) {
  start_ready(f);
  is_asked(f, PROBED);
}

// ---- finding out

static void a_server_that_answers_discover_is_ready_at_once(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  assert_true(str_eq(buf_view(&f->body_of_last),
                     STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
                         "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                         "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"toolgate\",\"title\":\"Toolgate\","
                         "\"version\":\"" TOOLGATE_VERSION "\"},"
                         "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}}}")));
  struct link *l = f->o.link;
  assert_true(link_revision(l)->stateless);
  assert_true(str_eq(json_span(link_server_capabilities(l)), STR("{\"tools\":{}}")));
  assert_true(str_eq(link_instructions(l), STR("be kind")));
  assert_true(str_eq(link_meta(l), STR("{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                       "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"toolgate\",\"title\":"
                                       "\"Toolgate\",\"version\":\"" TOOLGATE_VERSION "\"},"
                                       "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}")));
  advance(&f->o.w, 10 * START_MS);  // what is open stays open; nothing is sent by itself, then or at the end
  assert_true(link_ready(l));
  link_free(&f->o.link);
  some_turns(&f->o.w);
  is_asked(f, "");
}

static void a_stateless_server_may_be_told_of_other_capabilities(void **state) {
  struct fixture *f = *state;
  struct link_options opt = link_options(&f->o);
  opt.stateless_capabilities = STR("{\"sampling\":{}}");
  f->o.link = link_new_http(&opt, f->origin, &f->url, STR("X-Key: k\r\n"), &owner_events, &f->o);
  link_open(f->o.link);
  wait_ready(&f->o);
  assert_non_null(memmem(f->body_of_last.p, f->body_of_last.n, "Capabilities\":{\"sampling\":{}}", 29));
  assert_null(memmem(f->body_of_last.p, f->body_of_last.n, "roots", 5));
  assert_true(str_ends(link_meta(f->o.link), STR("Capabilities\":{\"sampling\":{}}}")));
}

static void found_by_events(struct fixture *f, struct http_exchange *x) {
  begin_events(x, "");
  event(x, ": \n\nid: 1\ndata: " FOUND "\n\n");
  http_stream_end(x);
}

static void discover_may_be_answered_by_events(void **state) {
  struct fixture *f = *state;
  f->discover = found_by_events;
  start_stateless(f);
  assert_true(link_revision(f->o.link)->stateless);
}

// How a server refuses discover that does not know it.
static const struct {
  int status;
  const char *body;
} refusals[] = {
    {400, NULL},
    {404, NULL},
    {405, NULL},
    {406, NULL},
    {415, NULL},
    {302, NULL},
    {202, NULL},
    {200, NULL},
    {200, "not JSON"},
    {200, HELLO("7", "2026-07-28")},
    {400, REFUSED("-32601", "")},
    {404, REFUSED("-32601", "")},
    {400, REFUSED("-32020", "")},
    {200, REFUSED("-32601", "")},
    {200, REFUSED("\"-32022\"", "")},
    {400, REFUSED("-32022", "")},
    {400, REFUSED("-32022", SUPPORTS("\"2026-07-28\""))},
    {400, REFUSED("-32022", SUPPORTS("[]"))},
    {400, REFUSED("-32022", SUPPORTS("[\"2025-11-25\"]"))},
    {400, REFUSED("-32022", SUPPORTS("[\"2099-01-01\",\"2024-11-05\"]"))},
    {400, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no session\"}}"},
    {200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"},
    {200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}"},
    {200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":\"2026-07-28\"}}"},
    {200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2025-06-18\",7]}}"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

static void a_server_that_does_not_know_discover_gets_the_handshake(void **state) {
  struct fixture *f = *state;
  f->discover = answer_status;
  for (size_t i = 0; i < REFUSALS; i++) {
    f->status = refusals[i].status;
    f->body = refusals[i].body;
    start(f);
    wait_settled(&f->o);
    if (!f->o.ready) fail_msg("%zu: %s", i, f->o.why.message);
    is_asked(f, PROBED OPENED);
    assert_string_equal(link_revision(f->o.link)->name, "2025-11-25");
    assert_null(link_meta(f->o.link).p);
    link_free(&f->o.link);
    is_asked(f, "DELETE" KNOWN);
  }
}

static void a_probe_whose_stream_ends_early_is_followed_by_the_handshake(void **state) {
  struct fixture *f = *state;
  f->discover = hold;
  start(f);
  begin_events(held(f, 0), "");
  event(held(f, 0), "id: 1\ndata: \n\n");
  http_stream_end(held(f, 0));
  wait_ready(&f->o);
  is_asked(f, PROBED OPENED);  // and it is not taken up again
}

static void what_says_nothing_of_the_era_fails_and_decides_nothing(void **state) {
  static const struct {
    int status;
    const char *body;
    enum fault_code code;
    const char *text;
  } table[] = {
      {401, NULL, FAULT_AUTH_FAILED, "it needs credentials"},
      {403, NULL, FAULT_PERMISSION_DENIED, "answered HTTP 403"},
      {401, REFUSED("-32001", ""), FAULT_AUTH_FAILED, "it needs credentials"},
      {429, NULL, FAULT_RATE_LIMITED, "answered HTTP 429"},
      {500, NULL, FAULT_UPSTREAM_UNAVAILABLE, "answered HTTP 500"},
      {503, REFUSED("-32603", ""), FAULT_UPSTREAM_UNAVAILABLE, "answered HTTP 503"},
  };
  struct fixture *f = *state;
  f->discover = answer_status;
  for (int era = LINK_ERA_UNKNOWN; era <= LINK_ERA_STATELESS; era += LINK_ERA_STATELESS) {
    f->o.era = (enum link_era)era;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
      f->status = table[i].status;
      f->body = table[i].body;
      start(f);
      wait_closed(&f->o);
      assert_why(&f->o, table[i].code, table[i].text);
      assert_false(f->o.wrong_transport || f->o.probe_failed);
      is_asked(f, PROBED);
    }
  }
  f->discover = drop;
  start(f);
  wait_closed(&f->o);
  assert_why(&f->o, FAULT_UPSTREAM_UNAVAILABLE, "closed without a response");
  is_asked(f, PROBED PROBED);  // the second time on a new connection
  f->discover = hold;
  start(f);
  begin_events(held(f, 0), "");
  event(held(f, 0), ": \n\n");
  http_exchange_drop(held(f, 0));
  wait_closed(&f->o);
  assert_why(&f->o, FAULT_UPSTREAM_UNAVAILABLE, "closed in the middle of a response");
  assert_false(f->o.wrong_transport || f->o.probe_failed);
  is_asked(f, PROBED);
}

static void a_server_with_which_we_share_no_revision_is_given_up(void **state) {
  static const struct {
    int status;
    const char *body, *text;
  } table[] = {
      {400, REFUSED("-32022", SUPPORTS("[\"2099-01-01\"]")), "speaks MCP revisions [\"2099-01-01\"], none of which"},
      {200, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2099-01-01\",null]}}",
       "speaks MCP revisions [\"2099-01-01\",null], none of which this version"},
      {400, REFUSED("-32022", SUPPORTS("[\"2026-07-28\"]")), "refused MCP revision 2026-07-28, which it claims"},
  };
  struct fixture *f = *state;
  f->discover = answer_status;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    f->status = table[i].status;
    f->body = table[i].body;
    start(f);
    wait_closed(&f->o);
    assert_why(&f->o, FAULT_PROTOCOL, table[i].text);
    assert_false(f->o.wrong_transport || f->o.probe_failed);
    is_asked(f, PROBED);
  }
}

static void the_answer_to_initialize_tells_of_the_older_transport(void **state) {
  struct fixture *f = *state;
  f->discover = f->hello = answer_status;
  f->status = 405;
  start(f);
  wait_closed(&f->o);
  assert_true(f->o.wrong_transport);
  is_asked(f, PROBED "POST initialize\n");
}

static void the_handshake_cannot_end_in_a_stateless_revision(void **state) {
  struct fixture *f = *state;
  f->o.era = LINK_ERA_HANDSHAKE;
  f->hello = answer_body;
  f->body = HELLO("1", "2026-07-28");
  start(f);
  wait_closed(&f->o);
  assert_why(&f->o, FAULT_PROTOCOL, "answered initialize with MCP revision 2026-07-28, which has no handshake");
  is_asked(f, "POST initialize\n");
}

static void a_probe_that_hangs_leaves_time_for_the_handshake(void **state) {
  struct fixture *f = *state;
  f->discover = hold;
  for (int i = 0; i < 2; i++) {
    start(f);
    held(f, i);
    if (i == 1) begin_events(held(f, i), "");  // not even by a stream that it began
    is_asked(f, PROBED);
    advance(&f->o.w, START_MS / 2 - 100);
    is_asked(f, "");
    advance(&f->o.w, 200);
    wait_ready(&f->o);
    is_asked(f, OPENED);
    wait_for(&f->o.w, &f->aborts, i + 1);
    link_free(&f->o.link);
    is_asked(f, "DELETE" KNOWN);
  }
}

static void a_probe_waits_five_seconds_when_there_is_time(void **state) {
  struct fixture *f = *state;
  struct link_options opt = link_options(&f->o);
  opt.start_ms = 60000;
  f->discover = hold;
  f->o.link = link_new_http(&opt, f->origin, &f->url, STR("X-Key: k\r\n"), &owner_events, &f->o);
  link_open(f->o.link);
  held(f, 0);
  advance(&f->o.w, 4900);
  is_asked(f, PROBED);
  advance(&f->o.w, 200);
  wait_ready(&f->o);
}

static void a_server_that_hangs_up_after_refusing_the_probe_is_called_again(void **state) {
  struct fixture *f = *state;
  f->discover = hold;
  start(f);
  http_reply(held(f, 0), 404, STR_NONE, STR_NONE, STR_NONE);
  http_server_free(&f->o.w.server);
  serve(f);
  wait_ready(&f->o);
  is_asked(f, PROBED OPENED);
}

static void a_server_known_to_be_stateless_gets_no_handshake(void **state) {
  struct fixture *f = *state;
  f->o.era = LINK_ERA_STATELESS;
  start_stateless(f);
  link_free(&f->o.link);
  f->discover = answer_status;
  for (size_t i = 0; i < REFUSALS; i++) {
    f->status = refusals[i].status;
    f->body = refusals[i].body;
    start(f);
    wait_closed(&f->o);
    assert_why(&f->o, FAULT_PROTOCOL, "does not speak MCP 2026-07-28, which \"protocol\": \"modern\" requires");
    assert_false(f->o.wrong_transport || f->o.probe_failed);
    is_asked(f, PROBED);
  }
  f->discover = hold;
  start(f);
  held(f, 0);
  advance(&f->o.w, START_MS + 100);
  assert_int_equal(f->o.closed, 1);
  assert_why(&f->o, FAULT_UPSTREAM_TIMEOUT, "did not answer server/discover within 5 s (timeouts.start)");
  is_asked(f, PROBED);
}

static void a_server_known_to_have_a_handshake_is_not_probed(void **state) {
  struct fixture *f = *state;
  f->o.era = LINK_ERA_HANDSHAKE;
  f->hello = welcome;
  start_ready(f);
  is_asked(f, OPENED);
}

static void the_older_transport_is_not_probed(void **state) {
  struct fixture *f = *state;
  for (int era = LINK_ERA_UNKNOWN; era <= LINK_ERA_STATELESS; era++) {
    f->o.era = (enum link_era)era;
    struct link_options opt = link_options(&f->o);
    f->get = f->hello = hold;
    f->o.link = link_new_sse(&opt, f->origin, &f->url, STR("X-Key: k\r\n"), &owner_events, &f->o);
    link_open(f->o.link);
    struct http_exchange *x = held(f, f->held_count);
    begin_events(x, "");
    event(x, "event: endpoint\ndata: /messages\n\n");
    is_asked(f, "GET\nPOST /messages initialize\n");
    link_free(&f->o.link);
  }
}

// ---- calls

static void a_request_repeats_in_headers_what_it_says(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  static const struct {
    str name, headers;
    const char *asked;
  } table[] = {
      {STR_NONE, STR_NONE, CALLED},
      {STR("echo"), STR_NONE, "POST m" MODERN " mcp-method=m mcp-name=echo\n"},
      {STR("\xc3\xa4\r\n"), STR_NONE, "POST m" MODERN " mcp-method=m mcp-name==?base64?w6QNCg==?=\n"},
      {STR(""), STR_NONE, "POST m" MODERN " mcp-method=m mcp-name==?base64?\?=\n"},
      {STR("e"), STR("Mcp-Param-X: 1\r\nMcp-Param-Y: 2\r\n"),
       "POST m" MODERN " mcp-method=m mcp-name=e mcp-param-x=1\n"},
      {STR_NONE, STR_NONE, CALLED},  // nothing of the one before is left
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct ask a;
    ask_init(&a, &f->o, 'a');
    a.call.name = table[i].name;
    a.call.headers = table[i].headers;
    link_call_begin(f->o.link, &a.call, 2000, 0);
    link_call_send(&a.call, STR("m"), STR_NONE);
    is_asked(f, table[i].asked);
    char reply[64];
    snprintf(reply, sizeof reply, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":1}", (unsigned long long)a.call.wait.id);
    answer_json(held(f, (int)i), reply);
    happens(&f->o, "a got 1\n");
  }
}

static void a_request_whose_headers_are_too_large_is_not_sent(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  char *large = mem_zero(3 << 20);
  struct ask a;
  ask_init(&a, &f->o, 'a');
  a.call.name = (str){large, 3 << 20};
  link_call_begin(f->o.link, &a.call, 2000, 0);
  link_call_send(&a.call, STR("m"), STR_NONE);
  happens(&f->o, "a failed LIMIT\n");
  mem_free(large);
  ask(f, &a, 'b');
  is_asked(f, CALLED);
  answer_json(held(f, 0), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":1}");
  happens(&f->o, "b got 1\n");
}

static void an_error_of_any_status_is_the_answer(void **state) {
  static const int statuses[] = {200, 400, 401, 403, 404, 500};
  struct fixture *f = *state;
  start_stateless(f);
  f->call = answer_status;
  for (int i = 0; i < 6; i++) {
    struct ask a;
    char body[96];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32601}}", i + 2);
    f->status = statuses[i];
    f->body = body;
    ask(f, &a, 'a');
    happens(&f->o, "a got {\"code\":-32601}\n");
    is_asked(f, CALLED);
  }
  assert_true(link_ready(f->o.link));
}

static void found_again(struct fixture *f, struct http_exchange *x) {
  answer_json(x, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\"}}");
}

static void a_refusal_without_a_reason_is_the_calls_alone_if_the_server_is_still_stateless(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  f->discover = found_again;
  f->call = answer_status;
  f->status = 404;
  f->body = NULL;
  struct ask a;
  ask(f, &a, 'a');
  happens(&f->o, "a failed UPSTREAM_ERROR\n");
  is_asked(f, CALLED PROBED);
  some_turns(&f->o.w);
  assert_true(link_ready(f->o.link));
}

static void a_server_that_no_longer_knows_discover_is_opened_anew(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  f->call = f->discover = answer_status;
  f->status = 400;
  f->body = NULL;
  struct ask a;
  ask(f, &a, 'a');
  happens(&f->o, "a failed UPSTREAM_ERROR\n");
  wait_closed(&f->o);
  assert_why(&f->o, FAULT_UPSTREAM_SESSION_LOST, "has ended its session");
  is_asked(f, CALLED PROBED);
}

static void a_stream_that_ends_before_its_answer_is_lost(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  for (int i = 0; i < 2; i++) {
    struct ask a;
    ask(f, &a, 'a');
    begin_events(held(f, i), "");
    event(held(f, i), "id: 7\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
    happens(&f->o, "told n on a call's stream\n");
    if (i == 0) http_stream_end(held(f, i));
    else http_exchange_drop(held(f, i));
    happens(&f->o, "a failed UPSTREAM_UNAVAILABLE\n");
    assert_int_equal(a.polled, 0);
    advance(&f->o.w, 60000);
    is_asked(f, CALLED);
    assert_true(link_ready(f->o.link));
  }
}

static void to_cancel_a_call_is_to_close_its_connection(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  for (int i = 0; i < 4; i++) {
    struct ask a;
    ask(f, &a, 'a');
    held(f, i);
    if (i % 2) begin_events(held(f, i), "");
    some_turns(&f->o.w);
    if (i < 2) link_call_cancel(&a.call, STR("enough"));
    else advance(&f->o.w, 2100);
    wait_for(&f->o.w, &f->aborts, i + 1);
    happens(&f->o, i < 2 ? "" : "a failed UPSTREAM_TIMEOUT\n");
    assert_null(a.call.link);
    is_asked(f, CALLED);  // and no notification
  }
  assert_true(link_ready(f->o.link));
}

struct canceller {
  struct ask ask;
  int heard;
};

// Gives up when it hears of progress.
static void cancel_on_progress(struct link_call *c, const struct rpc_message *notification) {
  struct canceller *x = CONTAINER_OF(c, struct canceller, ask.call);
  x->heard++;
  link_call_cancel(c, STR("enough"));
}

static void a_call_may_be_cancelled_by_what_comes_on_its_stream(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  struct canceller x = {.heard = 0};
  ask_init(&x.ask, &f->o, 'x');
  x.ask.call.progress = cancel_on_progress;
  link_call_begin(f->o.link, &x.ask.call, 2000, 0);
  link_call_send(&x.ask.call, STR("m"), STR_NONE);
  begin_events(held(f, 0), "");
#define PROGRESS \
  "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2}}\n\n"
  event(held(f, 0), PROGRESS PROGRESS "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n"
                                      "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":1}\n\n");
  wait_for(&f->o.w, &x.heard, 1);
  some_turns(&f->o.w);
  event(held(f, 0), "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
  some_turns(&f->o.w);
  advance(&f->o.w, 20);
  wait_for(&f->o.w, &f->aborts, 1);
  happens(&f->o, "");  // nothing more is heard of it
  assert_int_equal(x.heard, 1);
  is_asked(f, CALLED);
}

static void the_end_of_a_cancelled_stream_is_no_news(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  for (int i = 0; i < 2; i++) {
    struct canceller x = {.heard = 0};
    ask_init(&x.ask, &f->o, 'x');
    x.ask.call.progress = cancel_on_progress;
    link_call_begin(f->o.link, &x.ask.call, 2000, 0);
    char text[160];
    snprintf(text, sizeof text,
             "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
             "{\"progressToken\":%llu}}\n\n",
             (unsigned long long)x.ask.call.wait.id);
    link_call_send(&x.ask.call, STR("m"), STR_NONE);
    begin_events(held(f, i), "");
    event(held(f, i), text);
    wait_for(&f->o.w, &x.heard, 1);
    if (i == 0) http_stream_end(held(f, i));
    else http_exchange_drop(held(f, i));
    some_turns(&f->o.w);
    advance(&f->o.w, 20);
    happens(&f->o, "");
    is_asked(f, CALLED);
  }
}

static void a_call_without_a_time_limit_lasts_until_its_stream_ends(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  for (int i = 0; i < 3; i++) {
    struct ask a;
    ask_init(&a, &f->o, 'l');
    link_call_begin(f->o.link, &a.call, 0, 0);
    link_call_send(&a.call, STR("m"), STR_NONE);
    begin_events(held(f, i), "");
    for (int day = 0; day < 3; day++) {
      advance(&f->o.w, 86400000);
      event(held(f, i),
            ": still here\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n");
      happens(&f->o, "told notifications/tools/list_changed on a call's stream\n");
    }
    assert_int_equal(f->aborts, 0);
    if (i == 0) {
      char text[96];
      snprintf(text, sizeof text, "data: {\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}\n\n",
               (unsigned long long)a.call.wait.id);
      event(held(f, i), text);
    }
    if (i == 2) http_exchange_drop(held(f, i));
    else http_stream_end(held(f, i));
    happens(&f->o, i == 0 ? "l got {}\n" : "l failed UPSTREAM_UNAVAILABLE\n");
    is_asked(f, CALLED);
  }
}

// ---- what does not exist

static void a_stateless_server_is_sent_nothing_but_requests(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  link_notify(f->o.link, STR("notifications/roots/list_changed"), STR_NONE);
  link_notify(f->o.link, STR("notifications/cancelled"), STR("{\"requestId\":2}"));
  link_reply(f->o.link, STR("1"), STR("{}"));
  link_refuse(f->o.link, STR("1"), RPC_INTERNAL_ERROR, STR("no"));
  link_send_raw(f->o.link, STR("{\"jsonrpc\":\"2.0\",\"method\":\"n\"}"));
  some_turns(&f->o.w);
  is_asked(f, "");
}

static void a_stateless_server_may_not_ask(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  struct ask a;
  ask(f, &a, 'a');
  begin_events(held(f, 0), "");
  event(held(f, 0), "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n"
                    "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}\n\n"
                    "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":1}\n\n");
  happens(&f->o, "a got 1\n");
  is_asked(f, CALLED);
}

static void the_owner_hears_when_a_stateless_server_is_out_of_reach(void **state) {
  struct fixture *f = *state;
  start_stateless(f);
  struct ask a;
  http_server_free(&f->o.w.server);
  ask(f, &a, 'a');
  happens(&f->o, "out of reach\na failed UPSTREAM_UNAVAILABLE\n");
  serve(f);
  f->call = answer_body;
  f->body = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":1}";
  ask(f, &a, 'b');
  happens(&f->o, "in reach again\nb got 1\n");
}

static void a_stateless_link_may_be_freed_in_its_callbacks(void **state) {
  struct fixture *f = *state;
  for (int i = 0; i < 2; i++) {
    f->discover = i ? found_by_events : found;
    f->o.free_when_ready = true;
    start(f);
    wait_for(&f->o.w, &f->o.ready, 1);
    assert_null(f->o.link);
    f->o.free_when_ready = false;
    some_turns(&f->o.w);
    buf_reset(&f->asked);
  }
  f->o.free_when_told = true;
  start_stateless(f);
  struct ask a;
  ask(f, &a, 'a');
  begin_events(held(f, 0), "");
  event(held(f, 0), "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n");
  happens(&f->o, "told n on a call's stream\na failed SHUTTING_DOWN\n");
  assert_null(f->o.link);
  f->discover = hold;  // while it is being found out
  start(f);
  held(f, 1);
  link_free(&f->o.link);
  wait_for(&f->o.w, &f->aborts, 2);
  assert_int_equal(f->o.ready + f->o.closed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_unknown, teardown)

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      TEST(a_server_that_answers_discover_is_ready_at_once),
      TEST(a_stateless_server_may_be_told_of_other_capabilities),
      TEST(discover_may_be_answered_by_events),
      TEST(a_server_that_does_not_know_discover_gets_the_handshake),
      TEST(a_probe_whose_stream_ends_early_is_followed_by_the_handshake),
      TEST(what_says_nothing_of_the_era_fails_and_decides_nothing),
      TEST(a_server_with_which_we_share_no_revision_is_given_up),
      TEST(the_answer_to_initialize_tells_of_the_older_transport),
      TEST(the_handshake_cannot_end_in_a_stateless_revision),
      TEST(a_probe_that_hangs_leaves_time_for_the_handshake),
      TEST(a_probe_waits_five_seconds_when_there_is_time),
      TEST(a_server_that_hangs_up_after_refusing_the_probe_is_called_again),
      TEST(a_server_known_to_be_stateless_gets_no_handshake),
      TEST(a_server_known_to_have_a_handshake_is_not_probed),
      TEST(the_older_transport_is_not_probed),
      TEST(a_request_repeats_in_headers_what_it_says),
      TEST(a_request_whose_headers_are_too_large_is_not_sent),
      TEST(an_error_of_any_status_is_the_answer),
      TEST(a_refusal_without_a_reason_is_the_calls_alone_if_the_server_is_still_stateless),
      TEST(a_server_that_no_longer_knows_discover_is_opened_anew),
      TEST(a_stream_that_ends_before_its_answer_is_lost),
      TEST(to_cancel_a_call_is_to_close_its_connection),
      TEST(a_call_may_be_cancelled_by_what_comes_on_its_stream),
      TEST(the_end_of_a_cancelled_stream_is_no_news),
      TEST(a_call_without_a_time_limit_lasts_until_its_stream_ends),
      TEST(a_stateless_server_is_sent_nothing_but_requests),
      TEST(a_stateless_server_may_not_ask),
      TEST(the_owner_hears_when_a_stateless_server_is_out_of_reach),
      TEST(a_stateless_link_may_be_freed_in_its_callbacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
