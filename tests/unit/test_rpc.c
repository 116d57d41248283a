// SPDX-License-Identifier: Apache-2.0
// rpc/: messages told apart and written, and requests that wait for their replies.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "io/loop.h"
#include "rpc/pending.h"

// ---- reading

static const struct json *parse(struct arena *a, const char *text) {
  struct fault f;
  const struct json *v = json_parse(a, str_of(text), &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", text, f.message);
  return v;
}

static struct rpc_message read_message(struct arena *a, const char *text) {
  struct rpc_message m;
  struct rpc_error err;
  if (!rpc_read(parse(a, text), a, &m, &err)) fail_msg("%s: %s", text, err.message);
  return m;
}

static void assert_span(const struct json *v, const char *want) {
  if (!v) fail_msg("nothing instead of %s", want);
  else if (!str_eq(json_span(v), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(json_span(v)), want);
}

static void assert_text(const struct buf *b, const char *want) {
  if (!str_eq(buf_view(b), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(b)), want);
}

static void the_four_kinds_of_message_are_told_apart(void **state) {
  struct arena a;
  arena_init(&a);
  struct rpc_message m =
      read_message(&a, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"x\":[1]}}");
  assert_int_equal(m.kind, RPC_REQUEST);
  assert_span(m.id, "7");
  assert_true(str_eq(m.method, STR("tools/call")));
  assert_span(m.params, "{\"x\":[1]}");
  assert_null(m.result);
  assert_null(m.error);
  m = read_message(&a, "{\"method\":\"a\\u002fb\",\"jsonrpc\":\"2.0\"}");
  assert_int_equal(m.kind, RPC_NOTIFICATION);
  assert_null(m.id);
  assert_null(m.params);
  assert_true(str_eq(m.method, STR("a/b")));
  m = read_message(&a, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}");
  assert_int_equal(m.kind, RPC_RESULT);
  assert_span(m.id, "\"x\"");
  assert_span(m.result, "null");
  m = read_message(&a, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}");
  assert_int_equal(m.kind, RPC_ERROR);
  assert_null(m.id);
  assert_span(m.error, "{\"code\":-32700,\"message\":\"?\"}");
  m = read_message(&a, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"error\":{}}");
  assert_span(m.id, "1.5");
  m = read_message(&a, "{\"jsonrpc\":\"2.0\",\"error\":{}}");
  assert_null(m.id);
  m = read_message(
      &a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[],\"extra\":{\"result\":1},\"\\u0000\":2}");
  assert_int_equal(m.kind, RPC_REQUEST);
  assert_span(m.params, "[]");
  arena_done(&a);
}

static void what_is_no_message_is_refused_with_the_id_it_came_with(void **state) {
  static const struct {
    const char *text, *id;
  } table[] = {
      {"[]", ""},
      {"1", ""},
      {"null", ""},
      {"{}", ""},
      {"{\"id\":1,\"method\":\"m\"}", "1"},
      {"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"m\"}", "\"a\""},
      {"{\"jsonrpc\":2.0,\"id\":2,\"method\":\"m\"}", "2"},
      {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", ""},
      {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", ""},
      {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}", ""},
      {"{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":1}", ""},
      {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}", "3"},
      {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":null}", "3"},
      {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":1}", "4"},
      {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":\"x\"}", "4"},
      {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":null}", "4"},
      {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\",\"result\":1}", "5"},
      {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\",\"error\":{}}", "5"},
      {"{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":1,\"error\":{}}", "6"},
      {"{\"jsonrpc\":\"2.0\",\"id\":6,\"error\":\"x\"}", "6"},
      {"{\"jsonrpc\":\"2.0\",\"id\":6,\"error\":null}", "6"},
      {"{\"jsonrpc\":\"2.0\",\"id\":6}", "6"},
      {"{\"jsonrpc\":\"2.0\",\"result\":1}", ""},
      {"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}", ""},
      // a name of ours written with escapes: another reader might take it for a different message
      {"{\"jsonrpc\":\"2.0\",\"\\u0069d\":7,\"method\":\"m\"}", ""},
      {"{\"jsonrpc\":\"2.0\",\"id\":7,\"m\\u0065thod\":\"m\"}", "7"},
      {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"\\u0070arams\":{}}", "7"},
      {"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"\\u0065rror\":{}}", "7"},
  };
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct rpc_message m = {.method = STR("untouched")};
    struct rpc_error err = {0};
    assert_false(rpc_read(parse(&a, table[i].text), &a, &m, &err));
    assert_int_equal(err.code, RPC_INVALID_REQUEST);
    assert_true(err.message && err.message[0]);
    assert_string_equal(err.id, table[i].id);
    assert_true(str_eq(m.method, STR("untouched")));
  }
  arena_done(&a);
}

static void a_member_that_differs_from_a_known_one_only_in_case_is_refused(void **state) {
  static const struct {
    const char *members;
    int code;  // 0: it is fine
  } table[] = {
      {"\"method\":\"m\",\"Method\":\"n\"", RPC_INVALID_REQUEST},
      {"\"method\":\"m\",\"PARAMS\":{}", RPC_INVALID_REQUEST},
      {"\"method\":\"m\",\"para\xc4\xb1ms\":{}", 0},
      {"\"method\":\"m\",\"re\xc5\xbfult\":{}", RPC_INVALID_REQUEST},
      {"\"method\":\"m\",\"\xc4\xb1"
       "d\":2",
       RPC_INVALID_REQUEST},
      {"\"method\":\"m\",\"\\u004dethod\":\"n\"", RPC_INVALID_REQUEST},
      {"\"method\":\"m\",\"methods\":\"n\",\"vendor\":1", 0},
      {"\"method\":\"m\",\"params\":{\"name\":\"a\",\"Name\":\"b\"}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"Name\":\"b\"}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"N\\u0041me\":\"b\"}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"n\\u0061me\":\"b\"}", 0},
      {"\"method\":\"m\",\"params\":{\"ta\xc5\xbf\xe2\x84\xaa\":{}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"ta\\u017f\\u212a\":{}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\\u0000\":{}", RPC_INVALID_REQUEST},
      {"\"method\":\"m\",\"params\":{\"name\":\"a\",\"name\\u0000\":\"b\"}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"Name\\u0000x\":\"b\"}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"\\u0000name\":\"b\"}", 0},
      {"\"method\":\"m\",\"params\":{\"arguments\":{\"Name\":1,\"_Meta\":{}}}", 0},
      {"\"method\":\"m\",\"params\":{\"vendor\":1,\"names\":2}", 0},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"ProgressToken\":1}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"IO.modelcontextprotocol/x\":1}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"io.toolgate/Structured\":1}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"toolgate/SafetyMode\":\"read_only\"}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"Toolgate/mode\":\"read_only\"}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"toolgate/run\\u0000\":{}}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"toolgate/safetyMode\":\"read_only\",\"toolgate/run\":{}}}", 0},
      {"\"method\":\"m\",\"params\":{\"_meta\":{\"Vendor/Name\":1,\"io.toolgate/structured\":true}}", 0},
      {"\"method\":\"m\",\"params\":{\"ref\":{\"type\":\"ref/prompt\",\"Name\":\"b\"}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"inputResponses\":{\"Q\":{\"Action\":\"accept\"}}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":{\"inputResponses\":{\"Name\":{\"action\":\"accept\",\"content\":{\"Name\":1}}}}",
       0},
      {"\"method\":\"m\",\"params\":{\"capabilities\":{\"Roots\":{}}}", RPC_INVALID_PARAMS},
      {"\"method\":\"m\",\"params\":[{\"Name\":1}]", RPC_INVALID_PARAMS},
      {"\"result\":{\"content\":[],\"IsError\":true}", RPC_INVALID_REQUEST},
      {"\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\",\"TEXT\":\"b\"}]}", RPC_INVALID_REQUEST},
      {"\"result\":{\"structuredContent\":{\"Content\":[]}}", 0},
      {"\"result\":{\"tools\":[{\"name\":\"a\",\"Name\":\"b\"}]}", RPC_INVALID_REQUEST},
      {"\"result\":{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"Type\":1}}]}", 0},
      {"\"result\":{\"tools\":[{\"name\":\"a\",\"annotations\":{\"readonlyhint\":true}}]}", RPC_INVALID_REQUEST},
      {"\"result\":{\"action\":\"accept\",\"content\":{\"Type\":1}}", 0},
      {"\"result\":{\"role\":\"user\",\"content\":{\"Type\":1}}", RPC_INVALID_REQUEST},
      {"\"result\":{\"content\":{\"Type\":1}}", RPC_INVALID_REQUEST},
      {"\"error\":{\"code\":1,\"message\":\"m\",\"Code\":2}", RPC_INVALID_REQUEST},
  };
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct rpc_message m;
    struct rpc_error err = {0};
    char text[512];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":7,%s}", table[i].members);
    bool read = rpc_read(parse(&a, text), &a, &m, &err);
    if (read != !table[i].code || err.code != table[i].code) fail_msg("%s: %d", text, err.code);
    if (!read) assert_string_equal(err.id, "7");
  }
  arena_done(&a);
}

static void what_only_the_gateway_may_say_in_meta_is_taken_out(void **state) {
  static const struct {
    const char *result, *want;  // want NULL: there is nothing of the kind
  } table[] = {
      {"{\"_meta\":{\"a\":1}}", NULL},
      {"{\"structuredContent\":{\"_meta\":{\"io.toolgate/x\":1}}}", NULL},
      {"{\"_meta\":{\"io.toolgate/x\":1, \"a\":[1.0]},\"n\" :2}", "{\"_meta\":{\"a\":[1.0]},\"n\":2}"},
      {"{\"_meta\":{\"toolgate/x\":1}}", "{\"_meta\":{}}"},
      {"{\"_meta\":{\"io.toolg\\u0061te/x\":1}}", "{\"_meta\":{}}"},
      {"{\"_meta\":{\"io.modelcontextprotocol/clientInfo\":{}}}", "{\"_meta\":{}}"},
      {"{\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{}}}", NULL},
      {"{\"content\":[{\"resource\":{\"_meta\":{\"io.toolgate/x\":1}}}]}",
       "{\"content\":[{\"resource\":{\"_meta\":{}}}]}"},
      {"{\"tools\":[{\"_meta\":{\"io.modelcontextprotocol/serverInfo\":1}}]}", "{\"tools\":[{\"_meta\":{}}]}"},
  };
  struct arena a;
  struct buf b;
  arena_init(&a);
  buf_init(&b, 4096);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char text[512];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":%s}", table[i].result);
    struct rpc_message m = read_message(&a, text);
    if (m.reserved != (table[i].want != NULL)) fail_msg("%s", text);
    if (!m.reserved) continue;
    buf_reset(&b);
    rpc_put_unreserved(&b, &m, &a);
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":%s}", table[i].want);
    assert_text(&b, text);
  }
  buf_done(&b);
  arena_done(&a);
}

static void a_refusal_names_the_id_unless_it_is_too_long(void **state) {
  struct arena a;
  arena_init(&a);
  struct buf b;
  buf_init(&b, 4096);
  struct rpc_message m;
  struct rpc_error err;
  assert_false(rpc_read(parse(&a, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e4\"}"), &a, &m, &err));
  rpc_put_refusal(&b, &err);
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e4\",\"error\":{\"code\":-32600,\"message\":"
                  "\"a message must have exactly one of \\\"method\\\", \\\"result\\\" and \\\"error\\\"\"}}");
  for (int digits = 125; digits < 130; digits++) {  // with its quotes two more
    char text[256];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":\"%0*d\"}", digits, 1);
    assert_false(rpc_read(parse(&a, text), &a, &m, &err));
    assert_int_equal(strlen(err.id), digits + 2 < RPC_ERROR_ID ? digits + 2 : 0);
  }
  buf_reset(&b);
  rpc_put_refusal(&b, &(struct rpc_error){.code = RPC_PARSE_ERROR, .message = "no"});
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}");
  buf_done(&b);
  arena_done(&a);
}

static void a_message_over_a_limit_is_refused_under_its_own_id(void **state) {
  static const struct {
    const char *text, *id;
  } cases[] = {
      {"{\"method\":\"x\",\"params\":{\"id\":3,\"a\":[[1,2],[3]]},\"id\":7}", "7"},
      {"{\"id\":\"a b\",\"params\":[1,1,1,1]}", "\"a b\""},
      {"{\"params\":[1,1,1,1]}", ""},
      {"{\"params\":[1,1,1,1],\"id\":[1]}", ""},
      {"{\"params\":[1,1,1,1],\"id\":\"\x01\"}", ""},
      {"[{\"id\":1},1,1,1,1]", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fault f;
    struct rpc_unread unread;
    fault_set(&f, FAULT_LIMIT, "more than 3 values");
    rpc_refuse_unread(str_of(cases[i].text), &f, &unread);
    assert_int_equal(unread.error.code, RPC_INVALID_REQUEST);
    assert_string_equal(unread.error.id, cases[i].id);
    fault_set(&f, FAULT_INVALID, "no JSON");
    rpc_refuse_unread(str_of(cases[i].text), &f, &unread);
    assert_int_equal(unread.error.code, RPC_PARSE_ERROR);
    assert_string_equal(unread.error.id, "");
  }
}

static void a_refusal_names_the_key_of_the_limit(void **state) {
  static const struct {
    struct json_limits limits;
    const char *says;
  } cases[] = {
      {{.max_bytes = 20, .max_depth = 9},
       "Invalid Request: the text has more than 20 bytes (line 1, column 1, limits.request)"},
      {{.max_bytes = 99, .max_depth = 9, .max_values = 3},
       "Invalid Request: the text has more than 3 values (line 1, column 19, limits.request_values)"},
      {{.max_bytes = 99, .max_depth = 2},
       "Invalid Request: the text has more than 2 levels of nesting (line 1, column 19)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static const str text = STR("{\"id\":1,\"values\":[[1,2],[3]]}");
    struct arena a;
    struct fault f;
    struct rpc_unread unread;
    arena_init(&a);
    assert_null(json_parse(&a, text, &cases[i].limits, &f));
    rpc_refuse_unread(text, &f, &unread);
    assert_string_equal(unread.error.message, cases[i].says);
    arena_done(&a);
  }
}

static void ids_are_the_same_when_type_and_value_are(void **state) {
  static const struct {
    const char *one, *other;
    bool same;
  } table[] = {
      {"1", "1", true},
      {"1", "\"1\"", false},
      {"\"\\u0061\"", "\"a\"", true},
      {"\"a\"", "\"b\"", false},
      {"\"a\"", "\"A\"", false},
      {"1", "2", false},
      {"1", "1.0", true},
      {"\"\"", "\"\"", true},
      {"null", "\"\"", false},
      {"\"ab\"", "\"a\"", false},
      {"9007199254740993", "9007199254740992", false},
  };
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const struct json *one = parse(&a, table[i].one), *other = parse(&a, table[i].other);
    if (rpc_same_id(one, other) != table[i].same) fail_msg("%s and %s", table[i].one, table[i].other);
    assert_true(rpc_same_id(other, one) == table[i].same);
  }
  assert_false(rpc_same_id(NULL, parse(&a, "1")));
  assert_false(rpc_same_id(NULL, NULL));
  arena_done(&a);
}

// ---- writing

static void messages_are_written_as_one_line_of_json(void **state) {
  struct buf b;
  buf_init(&b, 4096);
  rpc_put_request(&b, STR("7"), STR("tools/call"), STR("{\"a\":1}"));
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"a\":1}}");
  buf_reset(&b);
  rpc_put_request(&b, STR("\"x\""), STR("a\"b\n"), STR_NONE);
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\\\"b\\n\"}");
  buf_reset(&b);
  rpc_put_notification(&b, STR("n"), STR("[]"));
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[]}");
  buf_reset(&b);
  rpc_put_notification(&b, STR("n"), STR_NONE);
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
  buf_reset(&b);
  rpc_put_result(&b, STR("1e2"), STR("null"));
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":1e2,\"result\":null}");
  buf_reset(&b);
  rpc_put_error(&b, STR("1"), -32000, STR("it \xff broke"), STR("{\"d\":1}"));
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"it \xef\xbf\xbd broke\","
                  "\"data\":{\"d\":1}}}");
  buf_reset(&b);
  rpc_put_error(&b, STR_NONE, RPC_PARSE_ERROR, STR(""), STR_NONE);
  assert_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}");
  buf_done(&b);
}

static void a_reply_under_another_id_keeps_every_other_byte(void **state) {
  static const struct {
    const char *text, *want;
  } table[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"n\":1.50e+3,\"s\":\"\\u00e4\"}}",
       "{\"jsonrpc\":\"2.0\",\"id\":\"me\",\"result\":{\"n\":1.50e+3,\"s\":\"\\u00e4\"}}"},
      {"{ \"result\" : { \"id\" : 12 } ,\n \"id\" :  12 , \"jsonrpc\" : \"2.0\" }",
       "{ \"result\" : { \"id\" : 12 } ,\n \"id\" :  \"me\" , \"jsonrpc\" : \"2.0\" }"},
      {"{\"id\":12,\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\",\"data\":[]},\"x\":0}",
       "{\"jsonrpc\":\"2.0\",\"id\":\"me\",\"error\":{\"code\":1,\"message\":\"m\",\"data\":[]}}"},
      {"{\"jsonrpc\":\"2.0\",\"error\":{}}", "{\"jsonrpc\":\"2.0\",\"error\":{},\"id\":\"me\"}"},
      {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":\"me\",\"error\":{}}"},
  };
  struct arena a;
  struct buf b;
  arena_init(&a);
  buf_init(&b, 4096);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct rpc_message m = read_message(&a, table[i].text);
    buf_reset(&b);
    rpc_put_reply_as(&b, &m, STR("\"me\""));
    assert_text(&b, table[i].want);
  }
  buf_done(&b);
  arena_done(&a);
}

// ---- waiting

struct fixture {
  uint64_t now;
  struct clock clock;
  struct loop loop;
  struct rpc_pending pending;
  struct arena arena;
};

static uint64_t fake_mono(void *ctx) {
  return ((struct fixture *)ctx)->now;
}
static int64_t fake_wall(void *ctx) {
  return 0;
}

static void setup(struct fixture *x) {
  x->now = 1000000;
  x->clock = (struct clock){fake_mono, fake_wall, x};
  loop_init(&x->loop, NULL, &x->clock, &rand_system);
  rpc_pending_init(&x->pending, &x->loop);
  arena_init(&x->arena);
}

static void teardown(struct fixture *x) {
  assert_int_equal(x->loop.timers, 0);
  rpc_pending_done(&x->pending);
  arena_done(&x->arena);
  loop_done(&x->loop);
}

static void advance(struct fixture *x, uint64_t ms) {
  x->now += ms;
  timer_run_due(&x->loop);
}

struct waiter {
  struct rpc_wait wait;
  struct fixture *x;
  int replies, faults, progress;
  enum fault_code code;
  struct waiter *stops;   // when this one is done
  struct waiter *starts;  // too
};

static void on_done(struct rpc_wait *w, const struct rpc_message *reply, const struct fault *f) {
  struct waiter *me = CONTAINER_OF(w, struct waiter, wait);
  assert_null(w->pending);
  assert_true(!reply != !f);
  me->replies += reply != NULL;
  me->faults += f != NULL;
  if (f) me->code = f->code;
  if (me->stops) rpc_wait_stop(&me->stops->wait);
  if (me->starts) rpc_wait_start(&me->x->pending, &me->starts->wait, 0, 0);
}

static void on_progress(struct rpc_wait *w, const struct rpc_message *notification) {
  CONTAINER_OF(w, struct waiter, wait)->progress++;
}

static void waiter_init(struct waiter *w, struct fixture *x) {
  *w = (struct waiter){.x = x, .wait = {.done = on_done, .progress = on_progress}};
}

static void wait_start(struct waiter *w, struct fixture *x, uint64_t timeout_ms, uint64_t max_ms) {
  waiter_init(w, x);
  rpc_wait_start(&x->pending, &w->wait, timeout_ms, max_ms);
}

static bool reply(struct fixture *x, const char *id) {
  char text[128];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", id);
  struct rpc_message m = read_message(&x->arena, arena_cstr(&x->arena, str_of(text)));
  return rpc_pending_reply(&x->pending, &m);
}

static bool progress(struct fixture *x, const char *token) {
  char text[128];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"p\",\"params\":{\"progressToken\":%s}}", token);
  struct rpc_message m = read_message(&x->arena, arena_cstr(&x->arena, str_of(text)));
  return rpc_pending_progress(&x->pending, &m);
}

static void every_request_gets_an_id_of_its_own_and_its_own_reply(void **state) {
  struct fixture x;
  setup(&x);
  struct waiter w[3];
  for (int i = 0; i < 3; i++) {
    wait_start(&w[i], &x, 0, 0);
    assert_int_equal(w[i].wait.id, i + 1);
  }
  assert_true(reply(&x, "2"));
  assert_false(reply(&x, "2"));  // at most once
  assert_true(reply(&x, "1"));
  assert_true(reply(&x, "3"));
  for (int i = 0; i < 3; i++) assert_int_equal(w[i].replies, 1);
  wait_start(&w[0], &x, 0, 0);  // ids are not used again
  assert_int_equal(w[0].wait.id, 4);
  rpc_wait_stop(&w[0].wait);
  rpc_wait_stop(&w[0].wait);
  assert_int_equal(w[0].replies + w[0].faults, 0);
  teardown(&x);
}

static void a_reply_with_an_id_that_is_not_ours_is_nobodys(void **state) {
  struct fixture x;
  setup(&x);
  struct waiter w;
  wait_start(&w, &x, 0, 0);
  static const char *const ids[] = {"\"1\"", "1.0", "1e0", "-1", "0", "2", "18446744073709551617", "10", "\"\""};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    assert_false(reply(&x, ids[i]));
    assert_false(progress(&x, ids[i]));
  }
  struct rpc_message m = read_message(&x.arena, "{\"jsonrpc\":\"2.0\",\"error\":{}}");
  assert_false(rpc_pending_reply(&x.pending, &m));
  m = read_message(&x.arena, "{\"jsonrpc\":\"2.0\",\"method\":\"p\"}");
  assert_false(rpc_pending_progress(&x.pending, &m));
  m = read_message(&x.arena, "{\"jsonrpc\":\"2.0\",\"method\":\"p\",\"params\":[1]}");
  assert_false(rpc_pending_progress(&x.pending, &m));
  assert_int_equal(w.replies + w.faults + w.progress, 0);
  assert_true(reply(&x, "1"));
  teardown(&x);
}

static void a_request_without_an_answer_times_out(void **state) {
  struct fixture x;
  setup(&x);
  struct waiter w, patient;
  wait_start(&w, &x, 500, 0);
  wait_start(&patient, &x, 0, 0);
  advance(&x, 490);
  assert_int_equal(w.faults, 0);
  advance(&x, 20);
  assert_int_equal(w.faults, 1);
  assert_int_equal(w.code, FAULT_UPSTREAM_TIMEOUT);
  assert_false(reply(&x, "1"));  // too late
  advance(&x, 100000000);
  assert_int_equal(patient.faults, 0);
  assert_true(reply(&x, "2"));
  teardown(&x);
}

static void progress_renews_the_deadline_up_to_the_hard_end(void **state) {
  struct fixture x;
  setup(&x);
  struct waiter w, deaf;
  wait_start(&w, &x, 500, 1200);
  wait_start(&deaf, &x, 500, 0);
  deaf.wait.progress = NULL;
  for (int i = 1; i <= 2; i++) {
    advance(&x, 400);
    assert_true(progress(&x, "1"));
    assert_true(progress(&x, "2"));
    assert_int_equal(w.progress, i);
  }
  advance(&x, 390);  // 1190 after the start, 390 after the last progress
  assert_int_equal(w.faults, 0);
  assert_true(progress(&x, "1"));
  assert_true(progress(&x, "2"));
  advance(&x, 30);
  assert_int_equal(w.faults, 1);
  assert_int_equal(w.code, FAULT_UPSTREAM_TIMEOUT);
  assert_false(progress(&x, "1"));
  for (int i = 0; i < 50; i++) {  // without a hard end it goes on and on
    advance(&x, 450);
    assert_true(progress(&x, "2"));
  }
  advance(&x, 520);
  assert_int_equal(deaf.faults, 1);
  teardown(&x);
}

static void the_hard_end_holds_whatever_the_timeout_is(void **state) {
  struct fixture x;
  setup(&x);
  struct waiter longer, without;
  wait_start(&longer, &x, 5000, 300);
  wait_start(&without, &x, 0, 300);
  advance(&x, 290);
  assert_int_equal(longer.faults + without.faults, 0);
  assert_true(progress(&x, "2"));
  advance(&x, 20);
  assert_int_equal(longer.faults, 1);
  assert_int_equal(without.faults, 1);
  teardown(&x);
}

static void failing_all_spares_what_is_started_meanwhile(void **state) {
  struct fixture x;
  setup(&x);
  struct waiter w[5];
  for (int i = 0; i < 4; i++) wait_start(&w[i], &x, 1000, 0);
  waiter_init(&w[4], &x);
  w[0].stops = &w[2];
  w[1].starts = &w[4];
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "gone");
  rpc_pending_fail(&x.pending, &f);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(w[i].faults, i == 0 || i == 1 || i == 3);
    if (w[i].faults) assert_int_equal(w[i].code, FAULT_UPSTREAM_UNAVAILABLE);
  }
  assert_int_equal(map_count(&x.pending.waits), 1);
  rpc_wait_fail(&w[4].wait, &f);
  assert_int_equal(w[4].faults, 1);
  rpc_pending_fail(&x.pending, &f);  // nobody
  teardown(&x);
}

static void a_reply_may_start_the_next_request_and_stop_others(void **state) {
  struct fixture x;
  setup(&x);
  struct waiter w[3];
  wait_start(&w[0], &x, 100, 0);
  wait_start(&w[1], &x, 100, 0);
  waiter_init(&w[2], &x);
  w[0].starts = &w[2];
  w[0].stops = &w[1];
  assert_true(reply(&x, "1"));
  assert_false(reply(&x, "2"));
  assert_int_equal(w[2].wait.id, 3);
  assert_true(reply(&x, "3"));
  advance(&x, 1000);
  assert_int_equal(w[0].faults + w[1].faults + w[1].replies, 0);
  teardown(&x);
}

static void thousands_of_requests_wait_at_once_and_are_answered_in_any_order(void **state) {
  enum { MANY = 5000 };
  struct fixture x;
  setup(&x);
  static struct waiter w[MANY];
  for (int i = 0; i < MANY; i++) wait_start(&w[i], &x, 1000, 0);
  for (int i = 0; i < MANY; i += 2) {
    char id[16];
    snprintf(id, sizeof id, "%d", (i * 7919) % MANY / 2 * 2 + 1);
    reply(&x, id);
    arena_reset(&x.arena);
  }
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "gone");
  rpc_pending_fail(&x.pending, &f);
  int replies = 0;
  for (int i = 0; i < MANY; i++) {
    assert_int_equal(w[i].replies + w[i].faults, 1);
    replies += w[i].replies;
  }
  assert_int_equal(replies, MANY / 2);
  teardown(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_four_kinds_of_message_are_told_apart),
      cmocka_unit_test(what_is_no_message_is_refused_with_the_id_it_came_with),
      cmocka_unit_test(a_member_that_differs_from_a_known_one_only_in_case_is_refused),
      cmocka_unit_test(what_only_the_gateway_may_say_in_meta_is_taken_out),
      cmocka_unit_test(a_refusal_names_the_id_unless_it_is_too_long),
      cmocka_unit_test(a_message_over_a_limit_is_refused_under_its_own_id),
      cmocka_unit_test(a_refusal_names_the_key_of_the_limit),
      cmocka_unit_test(ids_are_the_same_when_type_and_value_are),
      cmocka_unit_test(messages_are_written_as_one_line_of_json),
      cmocka_unit_test(a_reply_under_another_id_keeps_every_other_byte),
      cmocka_unit_test(every_request_gets_an_id_of_its_own_and_its_own_reply),
      cmocka_unit_test(a_reply_with_an_id_that_is_not_ours_is_nobodys),
      cmocka_unit_test(a_request_without_an_answer_times_out),
      cmocka_unit_test(progress_renews_the_deadline_up_to_the_hard_end),
      cmocka_unit_test(the_hard_end_holds_whatever_the_timeout_is),
      cmocka_unit_test(failing_all_spares_what_is_started_meanwhile),
      cmocka_unit_test(a_reply_may_start_the_next_request_and_stop_others),
      cmocka_unit_test(thousands_of_requests_wait_at_once_and_are_answered_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
