// SPDX-License-Identifier: Apache-2.0
// mcp/callers: who is lent which session, for how long; and what is refused before.
#include "callers_world.h"

enum { IDLE_MS = 60000 };

struct fixture {
  struct callers_world w;
  uint64_t now;
  struct clock clock;
  struct log log;
  struct loop loop;
  struct callers callers;
  struct refusal why;
};

// ---- the outlet

static struct fixture *of(const struct session *s) {
  return s->channel;
}

static void outlet_send(struct session *s, struct request *related, str message) {
  buf_printf(&of(s)->w.out, "send%s %.*s\n", related ? " related" : "", STR_ARG(message));
}

static void outlet_answer(struct request *r, struct payload message) {
  str said = message.text.p ? message.text : STR("no answer");
  buf_printf(&of(r->session)->w.out, "%.*s\n", STR_ARG(said));
}

static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

// ---- set-up

static uint64_t fake_mono(void *ctx) {
  return ((struct fixture *)ctx)->now;
}
static int64_t fake_wall(void *ctx) {
  return 0;
}

static int open_fixture(void **state, bool one_client) {
  struct fixture *x = MEM_NEW(struct fixture);
  x->now = 1000000;
  x->clock = (struct clock){fake_mono, fake_wall, x};
  x->log = (struct log){-1, LOG_OFF, NULL};
  loop_init(&x->loop, &x->log, &x->clock, &rand_system);
  callers_world_open(&x->w, &x->loop);
  struct callers_options opt = {&outlet, x, one_client, IDLE_MS};
  callers_init(&x->callers, &x->w.server, &opt);
  *state = x;
  return 0;
}

static int setup(void **state) {
  return open_fixture(state, false);
}
static int setup_pipe(void **state) {
  return open_fixture(state, true);
}

static int teardown(void **state) {
  struct fixture *x = *state;
  callers_done(&x->callers);
  callers_world_close(&x->w);
  loop_done(&x->loop);
  mem_free(x);
  return 0;
}

static void advance(struct fixture *x, uint64_t ms) {
  x->now += ms;
  x->loop.now_known = false;
  timer_run_due(&x->loop);
}

// ---- requests

// A principal with a name has a credential.
static struct client_identity identity(int principal) {
  static const char *const names[] = {"", "ann", "bob", "cy", "dan", "eve", "fay", "gil"};
  bool named = principal > 0 && principal < 8;
  return (struct client_identity){.principal = principal, .name = named ? str_of(names[principal]) : STR_NONE};
}

static struct session *lend(struct fixture *x, struct request *r, int principal) {
  if (!callers_check(r, &x->why) || !callers_speaks(r, &x->why)) fail_msg("%s", x->why.message);
  struct session *s = callers_lend(&x->callers, r, identity(principal), &x->why);
  if (s) s->has_lanes = true;  // as those that are of use to the next
  return s;
}

// A request from this principal; gives the session that it was lent, which may be gone when it is over.
static struct session *serve_as(struct fixture *x, int principal, const char *text) {
  struct request *r = parsed(&x->w, text);
  struct session *s = lend(x, r, principal);
  if (s) session_serve(s, r, NULL);
  else request_discard(&x->w.server, r);
  return s;
}

static struct session *serve(struct fixture *x, const char *text) {
  return serve_as(x, -1, text);
}

static void answer_held(struct fixture *x, int i) {
  request_reply(x->w.held[i], STR("{}"));
}

static size_t sessions(const struct fixture *x) {
  return x->w.server.shares.total;
}

static bool is_idle(const struct session *s) {
  return !list_empty(&s->idle);
}

// A session that is a client's own, after its handshake: none of the callers'.
static struct session *open_own(struct fixture *x) {
  struct session *s = session_new(&x->w.server, &outlet, x, (struct client_identity){.principal = -1});
  s->state = SESSION_OPEN;
  x->w.attached++;
  x->w.opened++;
  return s;
}

// ---- what is refused

static void expect_refusal(struct fixture *x, const char *text, int code, const char *part) {
  struct request *r = parsed(&x->w, text);
  x->why = (struct refusal){0};
  if (callers_check(r, &x->why)) fail_msg("'%s' was taken", text);
  assert_int_equal(x->why.code, code);
  if (!strstr(x->why.message, part)) fail_msg("'%s' instead of '…%s…'", x->why.message, part);
  assert_string_equal(x->why.data, "");
  request_discard(&x->w.server, r);
}

static void a_request_whose_meta_lacks_something_is_refused_for_that(void **state) {
#define PARAMS(text) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":" text "}"
  static const struct {
    const char *text, *part;
  } table[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}", "protocolVersion in _meta must be"},
      {PARAMS("[]"), "protocolVersion in _meta must be"},
      {PARAMS("{}"), "protocolVersion in _meta must be"},
      {PARAMS("{\"_meta\":null}"), "protocolVersion in _meta must be"},
      {PARAMS("{\"_meta\":[]}"), "protocolVersion in _meta must be"},
      {PARAMS("{\"_meta\":{" PLAIN "}}"), "protocolVersion in _meta must be"},
      {PARAMS("{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":20260728," PLAIN "}}"),
       "protocolVersion in _meta must be"},
      {PARAMS("{\"_meta\":{" VERSION "}}"), "clientCapabilities in _meta must be"},
      {REQUEST("1", "echo", CAPABILITIES "null"), "clientCapabilities in _meta must be"},
      {REQUEST("1", "echo", CAPABILITIES "[]"), "clientCapabilities in _meta must be"},
      {REQUEST("1", "echo", CAPABILITIES "true"), "clientCapabilities in _meta must be"},
      {REQUEST("1", "echo", PLAIN "," CLIENT "\"me\""), "clientInfo in _meta must be"},
      {REQUEST("1", "echo", PLAIN "," CLIENT "null"), "clientInfo in _meta must be"},
      {REQUEST("1", "echo", PLAIN "," LEVEL "\"loud\""), "is not a log level"},
      {REQUEST("1", "echo", PLAIN "," LEVEL "\"Info\""), "is not a log level"},
      {REQUEST("1", "echo", PLAIN "," LEVEL "1"), "is not a log level"},
      {REQUEST("1", "echo", PLAIN "," LEVEL "null"), "is not a log level"},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    expect_refusal(x, table[i].text, RPC_INVALID_PARAMS, table[i].part);
  assert_int_equal(sessions(x), 0);
}

static void what_is_no_request_is_refused_as_such(void **state) {
  static const char *const bad[] = {
      "7",
      "[]",
      "{}",
      "{\"id\":1,\"method\":\"echo\",\"params\":{" META(PLAIN) "}}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":{" META(PLAIN) "}}",
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"echo\",\"params\":{" META(PLAIN) "}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
      "[" REQUEST("1", "echo", PLAIN) "]",
      "{\"jsonrpc\":\"2.0\",\"\\u0069d\":1,\"method\":\"echo\",\"params\":{" META(PLAIN) "}}",
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) expect_refusal(x, bad[i], RPC_INVALID_REQUEST, "");
}

// A request with so many bytes of capabilities, or of clientInfo.
static void write_large(struct buf *b, size_t capabilities, size_t client) {
  buf_reset(b);
  buf_str(b, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"_meta\":{" VERSION "," CAPABILITIES));
  buf_printf(b, "{\"x\":\"%0*d\"}", (int)capabilities - 8, 0);
  buf_printf(b, "," CLIENT "{\"x\":\"%0*d\"}}}}", (int)client - 8, 0);
  buf_char(b, 0);
}

static void what_a_client_says_of_itself_is_bounded(void **state) {
  struct fixture *x = *state;
  struct buf b;
  buf_init(&b, 1 << 18);
  write_large(&b, 65536, 65536);
  struct request *r = parsed(&x->w, b.p);
  assert_true(callers_check(r, &x->why));
  request_discard(&x->w.server, r);
  write_large(&b, 65537, 65536);
  expect_refusal(x, b.p, RPC_INVALID_PARAMS, "larger than 64 KiB");
  write_large(&b, 65536, 65537);
  expect_refusal(x, b.p, RPC_INVALID_PARAMS, "larger than 64 KiB");
  buf_done(&b);
}

static void expect_foreign(struct fixture *x, const char *version, const char *data) {
  char text[512];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"_meta\":{"
           "\"io.modelcontextprotocol/protocolVersion\":\"%s\"," PLAIN "}}}",
           version);
  struct request *r = parsed(&x->w, text);
  assert_true(callers_check(r, &x->why));
  assert_false(callers_speaks(r, &x->why));
  assert_int_equal(x->why.code, RPC_UNSUPPORTED_VERSION);
  assert_non_null(strstr(x->why.message, "2026-07-28"));
  assert_string_equal(x->why.data, data);
  request_discard(&x->w.server, r);
}

static void and_so_is_an_id(void **state) {
  struct fixture *x = *state;
  char text[2048];
  for (int n = 1023; n <= 1025; n++) {
    snprintf(text, sizeof text, REQUEST("\"%0*d\"", "echo", PLAIN), n - 2, 0);
    struct request *r = parsed(&x->w, text);
    bool good = callers_check(r, &x->why);
    assert_int_equal(good, n <= 1024);
    if (!good) assert_int_equal(x->why.code, RPC_INVALID_REQUEST);
    request_discard(&x->w.server, r);
  }
}

static void another_revision_is_refused_with_those_that_are_spoken(void **state) {
#define SUPPORTED(requested) "{\"supported\":[\"2026-07-28\"],\"requested\":\"" requested "\"}"
  struct fixture *x = *state;
  expect_foreign(x, "v999", SUPPORTED("v999"));
  expect_foreign(x, "", SUPPORTED(""));
  expect_foreign(x, "2025-11-25", SUPPORTED("2025-11-25"));  // has a handshake
  expect_foreign(x, "2026-07-28 ", SUPPORTED("2026-07-28 "));
  expect_foreign(x, "a\\\"b\\n", SUPPORTED("a\\\"b\\n"));
  expect_foreign(x, "\\u0001\\u0002\\u0003", SUPPORTED("\\u0001\\u0002\\u0003"));
  expect_foreign(x, "0123456789012345678901234567890123456789012345678901234567890123", SUPPORTED("(too long)"));
}

static void a_message_belongs_here_when_its_meta_names_a_revision_whatever_it_is(void **state) {
  static const struct {
    const char *text;
    bool claims;
  } table[] = {
      {REQUEST("1", "echo", PLAIN), true},
      {PARAMS("{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}}"), true},
      {PARAMS("{\"_meta\":{\"io.modelcontextprotocol/\\u0070rotocolVersion\":\"x\"}}"), true},
      {"{\"params\":{\"_meta\":{" VERSION "}}}", true},
      {PARAMS("{\"_meta\":{" PLAIN "}}"), false},
      {PARAMS("{" VERSION "}"), false},
      {PARAMS("[{\"_meta\":{" VERSION "}}]"), false},
      {"[" REQUEST("1", "echo", PLAIN) "]", false},
      {"\""
       "2026-07-28\"",
       false},
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct request *r = parsed(&x->w, table[i].text);
    if (callers_claims(r) != table[i].claims) fail_msg("%s", table[i].text);
    request_discard(&x->w.server, r);
  }
}

// ---- sessions that are shared

static void clients_that_cannot_be_asked_share_a_session(void **state) {
  struct fixture *x = *state;
  struct session *s = serve(x, REQUEST("1", "hold", PLAIN));
  assert_int_equal(s->lent, LENT_SHARED);
  assert_int_equal(s->state, SESSION_OPEN);
  assert_true(s->revision->stateless);
  assert_ptr_equal(serve(x, REQUEST("1", "hold", PLAIN "," CLIENT "{\"name\":\"other\"}")), s);
  assert_ptr_equal(serve(x, REQUEST("3", "hold", CAPABILITIES "{\"extensions\":{},\"elicitation\":true}")), s);
  assert_int_equal(s->in_flight, 3);
  assert_int_equal(x->w.opened, 1);
  // It knows nothing of any of them.
  assert_false(session_askable(s));
  assert_null(s->client.p);
  assert_true(str_eq(s->capabilities, STR("{}")));
  for (int i = 0; i < 3; i++) answer_held(x, i);
  advance(x, 10 * IDLE_MS);
  assert_int_equal(x->w.closed, 0);
  assert_ptr_equal(serve(x, REQUEST("4", "echo", PLAIN)), s);
}

static void principals_share_nothing(void **state) {
  struct fixture *x = *state;
  struct session *a = serve_as(x, 0, REQUEST("1", "hold", PLAIN));
  struct session *b = serve_as(x, 1, REQUEST("1", "hold", PLAIN));
  struct session *c = serve_as(x, 10, REQUEST("1", "hold", PLAIN));
  assert_true(a != b && b != c && a != c);
  assert_int_equal(a->principal, 0);
  assert_int_equal(c->principal, 10);
  struct session *d = serve_as(x, 0, REQUEST("2", "echo", ELICITS));
  struct session *e = serve_as(x, 1, REQUEST("2", "echo", ELICITS));
  assert_true(d != e && d->principal == 0 && e->principal == 1);
  assert_ptr_equal(serve_as(x, 0, REQUEST("3", "echo", ELICITS)), d);
}

// ---- sessions that a request has alone

static void who_can_be_asked_or_wants_logs_has_a_session_alone(void **state) {
  static const char *const texts[] = {
      REQUEST("1", "echo", CAPABILITIES "{\"sampling\":{}}"),
      REQUEST("1", "echo", ELICITS),
      REQUEST("1", "echo", CAPABILITIES "{\"roots\":{}}"),
      REQUEST("1", "echo", PLAIN "," LEVEL "\"warning\""),
  };
  struct fixture *x = *state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct session *s = serve(x, texts[i]);
    assert_int_equal(s->lent, LENT_ALONE);
    assert_true(session_askable(s));
    assert_int_equal(s->can_sample, i == 0);
    assert_int_equal(s->can_elicit, i == 1);
    assert_int_equal(s->can_list_roots, i == 2);
    assert_int_equal(s->log_level, i == 3 ? 3 : SESSION_LOG_UNSET);
  }
  assert_int_equal(sessions(x), 4);
}

static void such_a_session_knows_its_client(void **state) {
  struct fixture *x = *state;
  struct session *s = serve(x, REQUEST("1", "echo",
                                       CAPABILITIES "{\"tasks\":{}, \"elicitation\":{}}," CLIENT
                                                    "{\"name\":\"me\", \"version\":\"1\"}"));
  assert_true(str_eq(s->client, STR("{\"name\":\"me\", \"version\":\"1\"}")));
  assert_true(str_eq(s->capabilities, STR("{\"tasks\":{}, \"elicitation\":{}}")));
  assert_true(str_eq(s->profile, STR("{\"elicitation\":{},\"tasks\":{}}")));
  assert_null(memmem(s->forwarded.p, s->forwarded.n, "tasks", 5));
  assert_false(s->has_tasks);  // they are no longer of the core
  // Its roots may be others each time, which servers with a session want to know in advance.
  s = serve(x, REQUEST("1", "echo", CAPABILITIES "{\"roots\":{}, \"sampling\":{}}"));
  assert_true(str_eq(s->capabilities, STR("{\"roots\":{\"listChanged\":true}, \"sampling\":{}}")));
}

static void two_requests_at_once_have_two_sessions(void **state) {
  struct fixture *x = *state;
  struct session *a = serve(x, REQUEST("1", "hold", ELICITS));
  struct session *b = serve(x, REQUEST("2", "hold", ELICITS));
  assert_true(a != b);
  assert_false(a->stream_closed || b->stream_closed || is_idle(a) || is_idle(b));
  answer_held(x, 0);
  answer_held(x, 1);
  assert_true(a->stream_closed && b->stream_closed && is_idle(a) && is_idle(b));
  // The one used last comes first.
  assert_ptr_equal(serve(x, REQUEST("3", "hold", ELICITS)), b);
  assert_false(b->stream_closed || is_idle(b));
  assert_ptr_equal(serve(x, REQUEST("4", "hold", ELICITS)), a);
  assert_int_equal(x->w.opened, 2);
  assert_int_equal(x->w.closed, 0);
}

static void a_session_is_kept_for_a_client_that_says_the_same_of_itself(void **state) {
  static const char *const others[] = {
      REQUEST("1", "echo", CAPABILITIES "{\"elicitation\":{},\"x\":1}," CLIENT "{\"name\":\"me\"}"),
      REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"you\"}"),
      REQUEST("1", "echo", ELICITS),
      REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"me\"}," LEVEL "\"debug\""),
  };
  struct fixture *x = *state;
  struct session *s = serve(x, REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"me\"}"));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct session *other = serve(x, others[i]);
    assert_true(other != s);
    assert_ptr_equal(serve(x, others[i]), other);
  }
  assert_int_equal(sessions(x), 5);
  assert_ptr_equal(serve(x, REQUEST("\"z\"", "echo", CLIENT "{\"name\":\"me\"}," ELICITS)), s);
}

static void a_call_that_waits_for_answers_keeps_its_session(void **state) {
  struct fixture *x = *state;
  struct session *s = serve(x, REQUEST("1", "hold", ELICITS));
  session_park(s);
  session_park(s);
  answer_held(x, 0);
  assert_false(is_idle(s));
  assert_true(serve(x, REQUEST("2", "echo", ELICITS)) != s);
  session_unpark(s);
  assert_false(is_idle(s));
  advance(x, 2 * IDLE_MS);
  assert_int_equal(sessions(x), 1);  // the other is gone
  session_unpark(s);
  assert_true(is_idle(s));
  assert_ptr_equal(serve(x, REQUEST("3", "echo", ELICITS)), s);
}

// ---- idle ones

static void an_idle_session_is_closed_after_a_while(void **state) {
  struct fixture *x = *state;
  serve(x, REQUEST("1", "echo", ELICITS));
  advance(x, IDLE_MS / 2);
  serve(x, REQUEST("1", "echo", CAPABILITIES "{\"roots\":{}}"));
  for (int i = 0; i < 29; i++) advance(x, 1000);
  assert_int_equal(x->w.closed, 0);
  for (int i = 0; i < 2; i++) advance(x, 1000);
  assert_int_equal(x->w.closed, 1);
  struct session *s = serve(x, REQUEST("2", "echo", CAPABILITIES "{\"roots\":{}}"));  // starts anew
  for (int i = 0; i < 59; i++) advance(x, 1000);
  assert_int_equal(x->w.closed, 1);
  assert_true(is_idle(s));
  for (int i = 0; i < 2; i++) advance(x, 1000);
  assert_int_equal(x->w.closed, 2);
  assert_int_equal(sessions(x), 0);
  // With nothing idle no clock runs, and it runs again when something is.
  assert_int_equal(x->loop.timers, 0);
  serve(x, REQUEST("3", "echo", ELICITS));
  assert_int_equal(x->loop.timers, 1);
  for (int i = 0; i < 61; i++) advance(x, 1000);
  assert_int_equal(sessions(x), 0);
}

static void an_idle_session_that_is_of_use_starts_anew(void **state) {
  struct fixture *x = *state;
  struct session *s = serve(x, REQUEST("1", "echo", ELICITS));
  serve(x, REQUEST("1", "echo", CAPABILITIES "{\"roots\":{}}"));
  advance(x, IDLE_MS / 2);
  callers_touch(s);
  advance(x, IDLE_MS / 2);
  assert_int_equal(x->w.closed, 1);
  assert_ptr_equal(serve(x, REQUEST("2", "hold", ELICITS)), s);
  callers_touch(s);  // in use: nothing to do
  assert_false(is_idle(s));
  struct session *other = open_own(x);
  callers_touch(other);  // nobody lent it
  assert_false(is_idle(other));
  session_close(&other);
  answer_held(x, 0);
  advance(x, IDLE_MS);
  assert_int_equal(sessions(x), 0);
}

static void one_in_use_is_never_swept(void **state) {
  struct fixture *x = *state;
  struct session *s = serve(x, REQUEST("1", "echo", ELICITS));
  assert_ptr_equal(serve(x, REQUEST("2", "hold", ELICITS)), s);
  for (int i = 0; i < 5; i++) advance(x, IDLE_MS);
  assert_int_equal(x->w.closed, 0);
  answer_held(x, 0);
  advance(x, IDLE_MS);
  assert_int_equal(x->w.closed, 1);
}

// ---- limits

static void with_too_many_the_one_that_was_idle_longest_makes_room(void **state) {
  struct fixture *x = *state;
  char text[512];
  struct session *oldest = NULL;
  for (int i = 0; i < WORLD_SESSIONS; i++) {
    snprintf(text, sizeof text, REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"%d\"}"), i);
    struct session *s = serve(x, text);
    if (i == 1) oldest = s;
    advance(x, 10);
  }
  serve(x, REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"0\"}"));  // the first is the latest now
  assert_int_equal(x->w.closed, 0);
  char id[RAND_ID_SIZE];
  memcpy(id, oldest->id, sizeof id);
  assert_non_null(serve(x, REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"new\"}")));
  assert_int_equal(x->w.closed, 1);
  assert_int_equal(sessions(x), WORLD_SESSIONS);
  LIST_EACH(it, &x->w.server.sessions) assert_string_not_equal(CONTAINER_OF(it, struct session, node)->id, id);
}

static void with_too_many_in_use_a_request_is_refused(void **state) {
  struct fixture *x = *state;
  struct session *shared = serve(x, REQUEST("1", "hold", PLAIN));
  for (int i = 1; i < WORLD_SESSIONS; i++) assert_non_null(serve(x, REQUEST("1", "hold", ELICITS)));
  buf_reset(&x->w.out);
  assert_null(serve(x, REQUEST("2", "hold", ELICITS)));
  assert_int_equal(x->why.code, RPC_INTERNAL_ERROR);
  assert_non_null(strstr(x->why.message, "try again"));
  assert_null(serve_as(x, 4, REQUEST("2", "hold", PLAIN)));
  assert_null(serve(x, REQUEST("2", "subscriptions/listen", PLAIN)));
  happened(&x->w, "");
  assert_int_equal(x->w.opened, WORLD_SESSIONS);
  assert_ptr_equal(serve(x, REQUEST("3", "hold", PLAIN)), shared);  // needs no other
  answer_held(x, 1);
  assert_non_null(serve(x, REQUEST("4", "hold", ELICITS)));
}

enum { ANN = 1, BOB };

static void a_principal_leaves_room_for_others(void **state) {
  struct fixture *x = *state;
  for (int i = 0; i < WORLD_SESSIONS / 2; i++) assert_non_null(serve_as(x, ANN, REQUEST("1", "hold", ELICITS)));
  assert_null(serve_as(x, ANN, REQUEST("2", "hold", ELICITS)));
  assert_int_equal(x->why.status, 429);
  assert_non_null(strstr(x->why.message, "of this principal"));
  assert_non_null(serve_as(x, BOB, REQUEST("1", "hold", ELICITS)));
}

static void beyond_its_share_its_own_idle_sessions_make_room_and_nobody_elses(void **state) {
  struct fixture *x = *state;
  struct session *other = serve_as(x, BOB, REQUEST("1", "echo", ELICITS));  // idle for the longest time
  advance(x, 10);
  struct session *first = serve_as(x, ANN, REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"1\"}"));
  char id[RAND_ID_SIZE];
  memcpy(id, first->id, sizeof id);
  for (int i = 1; i < WORLD_SESSIONS; i++)
    if (!serve_as(x, ANN, REQUEST("2", "hold", ELICITS))) break;
  LIST_EACH(it, &x->w.server.sessions) assert_string_not_equal(CONTAINER_OF(it, struct session, node)->id, id);
  assert_int_equal(x->why.status, 429);
  assert_true(sessions(x) < WORLD_SESSIONS);
  assert_ptr_equal(serve_as(x, BOB, REQUEST("2", "echo", ELICITS)), other);
}

static void how_many_a_principal_may_have_can_be_set(void **state) {
  struct fixture *x = *state;
  x->w.server.principal_sessions = 1;
  assert_non_null(serve_as(x, ANN, REQUEST("1", "hold", ELICITS)));
  assert_null(serve_as(x, ANN, REQUEST("2", "hold", ELICITS)));
  assert_non_null(serve_as(x, BOB, REQUEST("1", "hold", ELICITS)));
  answer_held(x, 0);
  assert_non_null(serve_as(x, ANN, REQUEST("3", "hold", ELICITS "," CLIENT "{\"name\":\"another\"}")));
}

// So many are kept at most; it is those of whoever comes as most clients that go.
static void a_principal_that_comes_as_many_clients_does_not_push_out_what_is_kept_for_others(void **state) {
  struct fixture *x = *state;
  char text[512];
  x->w.server.shares.max = 1000;
  struct session *other = serve_as(x, BOB, REQUEST("1", "echo", ELICITS));
  for (int i = 0; i < 300; i++) {
    snprintf(text, sizeof text, REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"%d\"}"), i);
    assert_non_null(serve_as(x, ANN, text));
  }
  advance(x, 1000);
  assert_int_equal(sessions(x), 256);
  assert_ptr_equal(serve_as(x, BOB, REQUEST("2", "echo", ELICITS)), other);
}

// What is lent to clients that cannot be asked anything stays; but those who came once do not keep others out.
static void a_session_that_nobody_had_since_long_makes_room_for_anybody(void **state) {
  struct fixture *x = *state;
  for (int i = 0; i < WORLD_SESSIONS; i++) serve_as(x, BOB + i, REQUEST("1", "echo", PLAIN));
  assert_int_equal(sessions(x), WORLD_SESSIONS);
  assert_null(serve_as(x, ANN, REQUEST("1", "echo", PLAIN)));
  advance(x, IDLE_MS);
  assert_int_equal(sessions(x), WORLD_SESSIONS);
  assert_non_null(serve_as(x, ANN, REQUEST("1", "echo", PLAIN)));
  assert_int_equal(x->w.closed, 1);
}

// ---- a request that listens

static void a_request_that_listens_has_a_session_that_ends_with_it(void **state) {
  struct fixture *x = *state;
  struct session *a = serve(x, REQUEST("1", "subscriptions/listen", ELICITS "," LEVEL "\"info\""));
  struct session *b = serve(x, REQUEST("2", "subscriptions/listen", PLAIN));
  assert_true(a != b);
  assert_int_equal(a->lent, LENT_ONCE);
  assert_false(session_askable(a));  // nothing is asked during it
  answer_held(x, 0);
  assert_int_equal(x->w.closed, 1);
  request_cancel(x->w.held[1], STR("gone"));
  assert_int_equal(x->w.closed, 2);
  assert_int_equal(sessions(x), 0);
}

// ---- one client on a pipe

static void one_client_is_not_kept_apart_from_itself(void **state) {
  struct fixture *x = *state;
  struct session *s = serve(x, REQUEST("1", "hold", ELICITS));
  assert_int_equal(s->lent, LENT_SHARED);
  assert_true(session_askable(s));
  assert_ptr_equal(serve(x, REQUEST("2", "hold", ELICITS)), s);
  assert_true(serve(x, REQUEST("3", "hold", CAPABILITIES "{\"roots\":{}}")) != s);
  assert_true(serve(x, REQUEST("4", "hold", PLAIN)) != s);
  answer_held(x, 0);
  assert_false(is_idle(s));
  answer_held(x, 1);
  assert_true(is_idle(s));
  assert_ptr_equal(serve(x, REQUEST("5", "echo", ELICITS)), s);
}

static void what_it_no_longer_uses_is_closed_all_the_same(void **state) {
  struct fixture *x = *state;
  char text[512];
  for (int i = 0; i < 5 * WORLD_SESSIONS; i++) {
    snprintf(text, sizeof text, REQUEST("1", "echo", ELICITS "," CLIENT "{\"name\":\"%d\"}"), i);
    if (!serve(x, text)) fail_msg("%s", x->why.message);
  }
  struct session *plain = serve(x, REQUEST("1", "echo", PLAIN));
  assert_int_equal(sessions(x), WORLD_SESSIONS);
  advance(x, IDLE_MS);
  assert_int_equal(sessions(x), 1);  // what cannot be asked costs nothing, and stays
  assert_ptr_equal(serve(x, REQUEST("1", "echo", PLAIN)), plain);
  int opened = x->w.opened;
  serve(x, text);
  assert_int_equal(x->w.opened, opened + 1);
}

static bool cancel(struct fixture *x, const char *params) {
  char text[256];
  struct rpc_error err;
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":%s}", params);
  struct request *r = parsed(&x->w, text);
  assert_true(rpc_read(r->value, &r->arena, &r->msg, &err));
  bool ours = callers_cancel(&x->callers, r);
  request_discard(&x->w.server, r);
  return ours;
}

static void a_request_on_a_pipe_is_cancelled_by_its_id(void **state) {
  struct fixture *x = *state;
  struct session *own = open_own(x);
  struct rpc_error err;
  assert_true(session_receive(own, parsed(&x->w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hold\"}"), NULL, &err));
  assert_true(session_receive(own, parsed(&x->w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"hold\"}"), NULL, &err));
  serve(x, REQUEST("1", "hold", PLAIN));
  serve(x, REQUEST("\"1\"", "hold", ELICITS));
  serve(x, REQUEST("7", "subscriptions/listen", PLAIN));
  assert_false(cancel(x, "{\"requestId\":2}"));
  assert_false(cancel(x, "{\"requestId\":null}"));
  assert_false(cancel(x, "{}"));
  assert_false(cancel(x, "[1]"));
  happened(&x->w, "");
  assert_true(cancel(x, "{\"requestId\":\"\\u0031\"}"));
  happened(&x->w, "cancelled \"1\": the client cancelled the request\nno answer\n");
  assert_false(cancel(x, "{\"requestId\":\"1\"}"));
  assert_true(cancel(x, "{\"requestId\":1,\"reason\":\"x\"}"));
  happened(&x->w, "cancelled 1: x\nno answer\n");
  assert_true(cancel(x, "{\"requestId\":7}"));
  happened(&x->w, "no answer\n");
  assert_int_equal(x->w.closed, 1);
  assert_int_equal(own->in_flight, 2);
  session_close(&own);
}

// ---- stopping

static void stopping_ends_what_only_listens(void **state) {
  struct fixture *x = *state;
  assert_false(callers_busy(&x->callers));
  serve(x, REQUEST("1", "subscriptions/listen", PLAIN));
  serve(x, REQUEST("2", "hold", ELICITS));
  serve(x, REQUEST("3", "subscriptions/listen", PLAIN));
  assert_true(callers_busy(&x->callers));
  callers_drain(&x->callers);
  happened(&x->w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopped\":true}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopped\":true}}\n");
  assert_int_equal(x->w.closed, 2);
  assert_true(callers_busy(&x->callers));
  answer_held(x, 1);
  assert_false(callers_busy(&x->callers));
  serve(x, REQUEST("4", "subscriptions/listen", PLAIN));
  assert_false(callers_busy(&x->callers));
}

static void the_end_cancels_what_is_under_way(void **state) {
  struct fixture *x = *state;
  struct session *other = open_own(x);
  serve(x, REQUEST("1", "hold", PLAIN));
  serve(x, REQUEST("2", "hold", ELICITS));
  serve(x, REQUEST("3", "echo", CAPABILITIES "{\"roots\":{}}"));
  serve(x, REQUEST("4", "subscriptions/listen", PLAIN));
  buf_reset(&x->w.out);
  callers_done(&x->callers);
  happened(&x->w,
           "cancelled 1: the client is gone\nno answer\ncancelled 2: the client is gone\nno answer\nno answer\n");
  assert_int_equal(x->w.closed, 4);
  assert_int_equal(sessions(x), 1);  // others have theirs
  session_close(&other);
  callers_init(&x->callers, &x->w.server, &(struct callers_options){&outlet, x, false, IDLE_MS});
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define PIPE_TEST(name) cmocka_unit_test_setup_teardown(name, setup_pipe, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_request_whose_meta_lacks_something_is_refused_for_that),
      TEST(what_is_no_request_is_refused_as_such),
      TEST(what_a_client_says_of_itself_is_bounded),
      TEST(and_so_is_an_id),
      TEST(another_revision_is_refused_with_those_that_are_spoken),
      TEST(a_message_belongs_here_when_its_meta_names_a_revision_whatever_it_is),
      TEST(clients_that_cannot_be_asked_share_a_session),
      TEST(principals_share_nothing),
      TEST(who_can_be_asked_or_wants_logs_has_a_session_alone),
      TEST(such_a_session_knows_its_client),
      TEST(two_requests_at_once_have_two_sessions),
      TEST(a_session_is_kept_for_a_client_that_says_the_same_of_itself),
      TEST(a_call_that_waits_for_answers_keeps_its_session),
      TEST(an_idle_session_is_closed_after_a_while),
      TEST(an_idle_session_that_is_of_use_starts_anew),
      TEST(one_in_use_is_never_swept),
      TEST(with_too_many_the_one_that_was_idle_longest_makes_room),
      TEST(with_too_many_in_use_a_request_is_refused),
      TEST(a_principal_leaves_room_for_others),
      TEST(beyond_its_share_its_own_idle_sessions_make_room_and_nobody_elses),
      TEST(how_many_a_principal_may_have_can_be_set),
      TEST(a_principal_that_comes_as_many_clients_does_not_push_out_what_is_kept_for_others),
      TEST(a_session_that_nobody_had_since_long_makes_room_for_anybody),
      TEST(a_request_that_listens_has_a_session_that_ends_with_it),
      PIPE_TEST(one_client_is_not_kept_apart_from_itself),
      PIPE_TEST(what_it_no_longer_uses_is_closed_all_the_same),
      PIPE_TEST(a_request_on_a_pipe_is_cancelled_by_its_id),
      TEST(stopping_ends_what_only_listens),
      TEST(the_end_cancels_what_is_under_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
