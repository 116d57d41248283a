// SPDX-License-Identifier: Apache-2.0
// What the tests of lanes share: an MCP server over HTTP, on the same loop, which can be of either era, writes down
// what it is asked, and answers the lists by itself; the upstreams with it as the one server; and an owner that writes
// down what they tell it.
#pragma once
#include "http_world.h"

#include <signal.h>

#include "upstream/kind.h"
#include "upstream/lane/watch.h"
#include "upstream/upstream.h"

enum { MAX_HELD = 32 };

// A request that the server has not answered yet, or a stream that it writes to.
struct held {
  struct lanes_world *o;
  struct http_exchange *x;  // NULL: it is over
  char id[24];
  bool streams, aborted;
};

struct lanes_world {
  struct world w;
  struct upstream_spec spec;
  char url[64];
  struct upstreams *all;
  struct arena arena;  // for what is to outlive them
  struct buf asked;    // a line for each request that the server got, except for those it answers by itself
  struct buf heard;    // a line for each thing that the owner was told
  struct held held[MAX_HELD];
  int held_count;
  int lists;      // requests for tools/list
  struct buf as;  // as whom: the capabilities that the last of them, or the last handshake, named
  // how the server behaves
  bool stateless;
  int refuse_opening;        // so many times HTTP 500 to the first request
  const char *capabilities;  // raw
  const char *session;       // id; NULL: it gives none
  bool agrees;               // to every subscription, at once
  const char *tools;         // raw list
  const char *instructions;  // raw text
  // how the upstreams are opened
  const char *state_dir;
  bool lazy;
  size_t max_waiting;     // calls, on one lane
  size_t max_own;         // lanes; 0: four
  int catalogs, changes;  // times that the owner was told of another catalog, and of another list of tools
};

static inline void write_line(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void write_line(struct buf *b, const char *fmt, ...) {
  va_list ap;
  char text[4096];
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  buf_printf(b, "%s\n", text);
}

// ---- the server

static inline void held_aborted(struct http_exchange *x) {
  struct held *h = x->owner;
  h->x = NULL;
  h->aborted = true;
  write_line(&h->o->asked, "end of stream %d", (int)(h - h->o->held));
}

static inline void hold(struct lanes_world *o, struct http_exchange *x, str id) {
  assert_true(o->held_count < MAX_HELD && id.n < sizeof o->held->id);
  struct held *h = &o->held[o->held_count++];
  *h = (struct held){.o = o, .x = x};
  memcpy(h->id, id.p, id.n);
  x->owner = h;
  x->on_abort = held_aborted;
}

static inline void reply(struct http_exchange *x, str id, const char *session, const char *result) {
  char text[4096], header[64] = "";
  int n = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", STR_ARG(id), result);
  if (session) snprintf(header, sizeof header, "Mcp-Session-Id: %s\r\n", session);
  http_reply(x, 200, str_of(header), STR("application/json"), (str){text, (size_t)n});
}

static inline void reply_opening(struct lanes_world *o, struct http_exchange *x, str id, bool discover) {
  char text[2048];
  snprintf(text, sizeof text,
           discover ? "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":%s,"
                      "\"instructions\":%s}"
                    : "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":%s,\"instructions\":%s}",
           o->capabilities, o->instructions);
  reply(x, id, discover ? NULL : o->session, text);
}

static inline bool ends_in_list(str method) {
  return str_ends(method, STR("/list"));
}

// False: it is up to the test.
static inline bool answer_itself(struct lanes_world *o, struct http_exchange *x, str id, str method) {
  bool discover = str_eq(method, STR("server/discover")), hello = str_eq(method, STR("initialize"));
  if ((discover || hello) && o->refuse_opening) {
    o->refuse_opening--;
    http_reply(x, 500, STR_NONE, STR_NONE, STR_NONE);
  } else if (discover || hello) {
    if (discover == o->stateless) reply_opening(o, x, id, discover);
    else http_reply(x, 400, STR_NONE, STR_NONE, STR_NONE);
  } else if (str_eq(method, STR("tools/list"))) {
    o->lists++;
    char text[2048];
    snprintf(text, sizeof text, "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":%s}",
             o->tools);
    reply(x, id, NULL, text);
  } else if (o->agrees || ends_in_list(method)) {
    reply(x, id, NULL, "{\"resources\":[],\"resourceTemplates\":[],\"prompts\":[]}");
  } else {
    return false;
  }
  return true;
}

static inline void note_request(struct lanes_world *o, str id, str method, const struct json *params) {
  const struct json *what = json_get(params, STR("notifications"));
  if (!what) what = json_get(params, STR("uri"));
  if (ends_in_list(method)) return;
  write_line(&o->asked, "%.*s%s%.*s", STR_ARG(method), what ? " " : "", what ? (int)what->n : 0, what ? what->p : "");
}

static inline void note_client(struct lanes_world *o, str method, const struct json *params) {
  const struct json *meta = json_get(params, STR("_meta"));
  const struct json *can = str_eq(method, STR("initialize"))
                               ? json_get(params, STR("capabilities"))
                               : json_get(meta, STR("io.modelcontextprotocol/clientCapabilities"));
  bool listed = str_eq(method, STR("tools/list")) && o->stateless;
  if (!listed && !str_eq(method, STR("initialize"))) return;
  buf_reset(&o->as);
  buf_str(&o->as, json_span(can));
}

static inline void on_request(void *ctx, struct http_exchange *x) {
  struct lanes_world *o = ctx;
  struct arena a;
  struct fault f;
  if (!str_eq(x->head->method, STR("POST"))) {
    http_reply(x, str_eq(x->head->method, STR("GET")) ? 405 : 200, STR_NONE, STR_NONE, STR_NONE);
    return;
  }
  arena_init(&a);
  const struct json *m = json_parse(&a, x->body, &json_default_limits, &f);
  assert_non_null(m);
  str method;
  assert_true(json_string(json_get(m, STR("method")), &a, &method));
  const struct json *id = json_get(m, STR("id")), *params = json_get(m, STR("params"));
  // Every request to a stateless server says so, and none to another does.
  bool claims = json_get(json_get(params, STR("_meta")), STR("io.modelcontextprotocol/protocolVersion")) != NULL;
  bool opening = str_eq(method, STR("server/discover")) || str_eq(method, STR("initialize"));
  if (id && !opening) assert_int_equal(claims, o->stateless);
  if (id) note_request(o, json_span(id), method, params);
  note_client(o, method, params);
  if (!id) http_reply(x, 202, STR_NONE, STR_NONE, STR_NONE);
  else if (!answer_itself(o, x, json_span(id), method)) hold(o, x, json_span(id));
  arena_done(&a);
}

// ---- what a test makes the server do

static inline struct held *held(struct lanes_world *o, int index) {
  wait_for(&o->w, &o->held_count, index + 1);
  return &o->held[index];
}

static inline void answer(struct held *h, const char *result) {
  struct http_exchange *x = h->x;
  h->x = NULL;
  reply(x, str_of(h->id), NULL, result);
}

static inline void answer_error(struct held *h, int code) {
  char text[128];
  struct http_exchange *x = h->x;
  int n = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"no\"}}",
                   h->id, code);
  h->x = NULL;
  http_reply(x, 200, STR_NONE, STR("application/json"), (str){text, (size_t)n});
}

static inline void say(struct held *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void say(struct held *h, const char *fmt, ...) {
  va_list ap;
  char text[4096];
  if (!h->streams) http_stream_begin(h->x, 200, STR_NONE, STR("text/event-stream"));
  h->streams = true;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  struct buf b;
  buf_init(&b, sizeof text + 64);
  buf_printf(&b, "data: %s\n\n", text);
  assert_true(http_stream_write(h->x, (struct payload){buf_view(&b), NULL}));
  buf_done(&b);
}

#define TAGGED "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}"

static inline void acknowledge(struct held *h, const char *honoured) {
  say(h,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{" TAGGED
      ",\"notifications\":%s}}",
      h->id, honoured);
}

static inline void end_stream(struct held *h) {
  say(h, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\"," TAGGED "}}", h->id, h->id);
  http_stream_end(h->x);
  h->x = NULL;
}

// ---- the owner

static inline void on_changed(void *ctx, const bool changed[ITEM_KINDS]) {
  struct lanes_world *o = ctx;
  o->catalogs++;
  o->changes += changed[ITEM_TOOL];
}
static inline void on_settled(void *ctx) {
}
static inline void on_upstream_request(void *ctx, struct lane *lane, struct link_call *via,
                                       const struct rpc_message *m) {
  struct lanes_world *o = ctx;
  write_line(&o->heard, "asked %.*s", STR_ARG(m->method));
}
static inline void on_upstream_notification(void *ctx, struct lane *lane, struct link_call *via,
                                            const struct rpc_message *m) {
  struct lanes_world *o = ctx;
  const struct json *uri = json_get(m->params, STR("uri"));
  write_line(&o->heard, "told %.*s%s%.*s%s", STR_ARG(m->method), uri ? " " : "", uri ? (int)uri->n : 0,
             uri ? uri->p : "", via ? " on a call's stream" : "");
}
static inline void on_lane_ready(void *ctx, struct lane *lane) {
}
// In these tests a client's name is the agent it acts as.
static inline str agent_of(void *ctx, const struct session *s) {
  return s->client;
}

static const struct upstreams_events owner_events = {
    .catalog_changed = on_changed,
    .lane_settled = on_settled,
    .request = on_upstream_request,
    .notification = on_upstream_notification,
    .lane_ready = on_lane_ready,
    .agent_of = agent_of,
};

static const struct http_server_options server_options = {
    .limits = {16384, 1 << 20},
    .max_connections = 64,
    .max_queued = 4 << 20,
    .head_ms = 60000,
    .body_ms = 60000,
    .idle_ms = 36000000,
    .write_ms = 36000000,
};

static inline void open_upstreams(struct lanes_world *o) {
  struct fault f;
  struct upstreams_options opt = {
      .loop = &o->w.loop,
      .request_ms = 60000,
      .request_max_ms = 60000,
      .start_ms = 10000,
      .max_message = 1 << 20,
      .max_own_lanes = o->max_own ? o->max_own : 4,
      .max_waiting = o->max_waiting,
      .idle_ms = 60000,
      .lazy = o->lazy,
      .state_dir = str_of(o->state_dir),
  };
  o->all = upstreams_new(&opt, &o->spec, 1, &owner_events, o, &f);
  assert_non_null(o->all);
}

// The configuration of the server is another: o->spec says which.
static inline void open_again(struct lanes_world *o) {
  upstreams_free(&o->all);
  open_upstreams(o);
}

static inline int setup(void **state) {
  signal(SIGPIPE, SIG_IGN);
  struct lanes_world *o = MEM_NEW(struct lanes_world);
  world_open(&o->w, &server_options, on_request, o);
  snprintf(o->url, sizeof o->url, "http://127.0.0.1:%u/mcp", o->w.port);
  o->spec = (struct upstream_spec){.name = STR("srv"), .kind = &upstream_http, .url = str_of(o->url)};
  o->capabilities = "{\"tools\":{}}";
  o->tools = "[]";
  o->instructions = "\"\"";
  arena_init(&o->arena);
  buf_init(&o->asked, 1 << 20);
  buf_init(&o->heard, 1 << 20);
  buf_init(&o->as, 1 << 20);
  open_upstreams(o);
  *state = o;
  return 0;
}

static inline int setup_stateless(void **state) {
  setup(state);
  ((struct lanes_world *)*state)->stateless = true;
  return 0;
}

static inline int teardown(void **state) {
  struct lanes_world *o = *state;
  upstreams_free(&o->all);
  world_close(&o->w);
  arena_done(&o->arena);
  buf_done(&o->asked);
  buf_done(&o->heard);
  buf_done(&o->as);
  mem_free(o);
  return 0;
}

// ---- looking

// Since the last time it was exactly this, now or soon.
static inline void becomes(struct lanes_world *o, struct buf *lines, const char *want) {
  size_t n = strlen(want);
  for (uint64_t until = real_ms() + DEADLINE_MS; lines->n < n;) {
    if (real_ms() + 20 > until) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(lines)), want);
    turn(&o->w, -1, until);
  }
  some_turns(&o->w);
  if (!str_eq(buf_view(lines), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(lines)), want);
  buf_reset(lines);
}

static inline void is_asked(struct lanes_world *o, const char *want) {
  becomes(o, &o->asked, want);
}
static inline void hears(struct lanes_world *o, const char *want) {
  becomes(o, &o->heard, want);
}

static inline void wait_state(struct lanes_world *o, const struct lane *lane, enum lane_state state) {
  for (uint64_t until = real_ms() + DEADLINE_MS; lane->state != state;) turn(&o->w, -1, until);
  some_turns(&o->w);
}

// What the server is asked when its lane is opened.
#define PROBED "server/discover\n"
#define OPENED PROBED "initialize\n"

static inline struct session client(const char *capabilities) {
  return (struct session){
      .magic = SESSION_MAGIC,
      .revision = mcp_revision_latest(),
      .capabilities = str_of(capabilities),
      .profile = str_of(capabilities),
      .principal = -1,
      .can_sample = strlen(capabilities) > 2,
      .log_level = SESSION_LOG_UNSET,
  };
}

// The common lane, ready and listed.
static inline struct lane *open_common(struct lanes_world *o) {
  struct session nobody = client("{}");
  upstreams_start(o->all);
  struct lane *lane = upstreams_lane_find(o->all, 0, &nobody);
  wait_state(o, lane, LANE_READY);
  for (uint64_t until = real_ms() + DEADLINE_MS; !lane->listed;) turn(&o->w, -1, until);
  return lane;
}
