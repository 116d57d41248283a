// SPDX-License-Identifier: Apache-2.0
// A small MCP server over HTTP, on the same loop, for the tests of links: it writes down what it is asked, and answers
// as it is told to.
#pragma once
#include "link_world.h"

#include <signal.h>

enum { MAX_HELD = 16 };

struct fixture {
  struct owner o;  // first: the server's context
  char text[64];
  struct http_url url;
  struct http_origin *origin;
  struct buf asked;  // a line for each request that the server got
  struct buf body_of_last;
  struct http_exchange *held[MAX_HELD];
  int held_count, aborts;
  // how the server behaves
  void (*discover)(struct fixture *f, struct http_exchange *x);
  void (*hello)(struct fixture *f, struct http_exchange *x);
  void (*call)(struct fixture *f, struct http_exchange *x);
  void (*get)(struct fixture *f, struct http_exchange *x);
  int confirm;       // the status for notifications/initialized
  int other;         // for other notifications, and replies
  str type;          // of these answers, which have no body
  int status;        // for some of the answers
  const char *body;  // too
};

// ---- the server

static inline void count_abort(struct http_exchange *x) {
  ((struct fixture *)x->owner)->aborts++;
}

static inline void hold(struct fixture *f, struct http_exchange *x) {
  assert_true(f->held_count < MAX_HELD);
  x->owner = f;
  x->on_abort = count_abort;
  f->held[f->held_count++] = x;
}

static inline void drop(struct fixture *f, struct http_exchange *x) {
  http_exchange_drop(x);
}

static inline void answer_json(struct http_exchange *x, const char *body) {
  http_reply(x, 200, STR_NONE, STR("application/json"), str_of(body));
}

static inline void answer_status(struct fixture *f, struct http_exchange *x) {
  http_reply(x, f->status, STR_NONE, f->body ? STR("application/json; charset=utf-8") : STR_NONE, str_of(f->body));
}

static inline void answer_body(struct fixture *f, struct http_exchange *x) {
  answer_json(x, f->body);
}

static inline void refuse_get(struct fixture *f, struct http_exchange *x) {
  http_reply(x, 405, STR_NONE, STR_NONE, STR_NONE);
}

#define HELLO(id, version) \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"protocolVersion\":\"" version "\",\"capabilities\":{\"tools\":{}}}}"

static inline void welcome(struct fixture *f, struct http_exchange *x) {
  http_reply(x, 200, STR("Mcp-Session-Id: s1\r\n"), STR("application/json"), str_of(HELLO("1", "2025-11-25")));
}

static inline void begin_events(struct http_exchange *x, const char *headers) {
  http_stream_begin(x, 200, str_of(headers), STR("text/event-stream"));
}

static inline void event(struct http_exchange *x, const char *text) {
  assert_true(http_stream_write(x, (struct payload){str_of(text), NULL}));
}

static inline void note_header(struct fixture *f, const struct http_head *h, const char *name) {
  str value = http_value(h, str_of(name));
  if (value.p) buf_printf(&f->asked, " %s=%.*s", name, STR_ARG(value));
}

// "METHOD what header=value …"
static inline void note_request(struct fixture *f, const struct http_exchange *x, str what) {
  buf_printf(&f->asked, "%.*s", STR_ARG(x->head->method));
  if (!str_eq(x->head->target, STR("/mcp"))) buf_printf(&f->asked, " %.*s", STR_ARG(x->head->target));
  if (what.n) buf_printf(&f->asked, " %.*s", STR_ARG(what));
  note_header(f, x->head, "mcp-session-id");
  note_header(f, x->head, "mcp-protocol-version");
  note_header(f, x->head, "last-event-id");
  note_header(f, x->head, "mcp-method");
  note_header(f, x->head, "mcp-name");
  note_header(f, x->head, "mcp-param-x");
  buf_char(&f->asked, '\n');
}

static inline void on_request(void *ctx, struct http_exchange *x) {
  struct fixture *f = ctx;
  struct arena a;
  struct fault fault;
  str method = STR_NONE;
  arena_init(&a);
  assert_true(str_eq(http_value(x->head, STR("x-key")), STR("k")));
  bool post = str_eq(x->head->method, STR("POST"));
  if (post) {
    const struct json *m = json_parse(&a, x->body, &json_default_limits, &fault);
    assert_non_null(m);
    if (!json_string(json_get(m, STR("method")), &a, &method)) method = x->body;
    assert_true(str_eq(http_value(x->head, STR("content-type")), STR("application/json")));
    assert_true(http_list_has(http_value(x->head, STR("accept")), STR("text/event-stream")));
  }
  buf_reset(&f->body_of_last);
  buf_str(&f->body_of_last, x->body);
  note_request(f, x, method);
  if (str_eq(method, STR("server/discover"))) f->discover(f, x);
  else if (str_eq(method, STR("initialize"))) f->hello(f, x);
  else if (str_eq(method, STR("m"))) f->call(f, x);
  else if (str_eq(method, STR("notifications/initialized"))) http_reply(x, f->confirm, STR_NONE, f->type, STR_NONE);
  else if (str_eq(x->head->method, STR("GET"))) f->get(f, x);
  else http_reply(x, post ? f->other : 200, STR_NONE, f->type, STR_NONE);
  arena_done(&a);
}

// ---- set-up

static const struct http_server_options server_options = {
    .limits = {16384, 1 << 20},
    .max_connections = 64,
    .max_queued = 4 << 20,
    .head_ms = 60000,
    .body_ms = 60000,
    .idle_ms = 3600000,
    .write_ms = 60000,
};

// Listens again where it did before.
static inline void serve(struct fixture *f) {
  struct fault fault;
  uint16_t port;
  f->o.w.server = http_server_new(&f->o.w.loop, &server_options, on_request, f);
  assert_true(http_server_listen(f->o.w.server, STR("127.0.0.1"), f->o.w.port, &port, &fault));
}

static inline int setup(void **state) {
  struct fixture *f = MEM_NEW(struct fixture);
  owner_open(&f->o, &server_options, on_request);
  snprintf(f->text, sizeof f->text, "http://127.0.0.1:%u/mcp", f->o.w.port);
  assert_true(http_url_parse(str_of(f->text), &f->url));
  f->origin = http_origin_new(&f->o.w.loop, &f->url, NULL, NULL);
  buf_init(&f->asked, 1 << 20);
  buf_init(&f->body_of_last, 1 << 20);
  f->hello = welcome;
  f->confirm = f->other = 202;
  f->call = hold;
  f->get = refuse_get;
  *state = f;
  return 0;
}

static inline int teardown(void **state) {
  struct fixture *f = *state;
  owner_close(&f->o);
  http_origin_free(&f->origin);
  world_close(&f->o.w);
  buf_done(&f->asked);
  buf_done(&f->body_of_last);
  mem_free(f);
  return 0;
}

static inline void start(struct fixture *f) {
  struct link_options opt = link_options(&f->o);
  f->o.ready = f->o.closed = 0;
  f->o.link = link_new_http(&opt, f->origin, &f->url, STR("X-Key: k\r\n"), &owner_events, &f->o);
  link_open(f->o.link);
}

static inline void start_ready(struct fixture *f) {
  start(f);
  wait_ready(&f->o);
}

// The server was asked exactly this since the last time, now or soon.
static inline void is_asked(struct fixture *f, const char *want) {
  size_t n = strlen(want);
  for (uint64_t until = real_ms() + DEADLINE_MS; f->asked.n < n;) {
    if (real_ms() + 20 > until) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&f->asked)), want);
    turn(&f->o.w, -1, until);
  }
  some_turns(&f->o.w);
  if (!str_eq(buf_view(&f->asked), str_of(want)))
    fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&f->asked)), want);
  buf_reset(&f->asked);
}

#define KNOWN " mcp-session-id=s1 mcp-protocol-version=2025-11-25\n"
#define OPENED "POST initialize\nPOST notifications/initialized" KNOWN "GET" KNOWN

static inline void ask(struct fixture *f, struct ask *a, char name) {
  ask_send(a, &f->o, name, STR("m"), STR_NONE);
}

// An exchange of a call that the server holds.
static inline struct http_exchange *held(struct fixture *f, int index) {
  wait_for(&f->o.w, &f->held_count, index + 1);
  return f->held[index];
}
