// SPDX-License-Identifier: Apache-2.0
// What the tests of links share: an owner that writes down what a link tells it, and calls that do the same.
#pragma once
#include "http_world.h"

#include "mcp/client/link.h"

enum { START_MS = 5000, MAX_MESSAGE = 65536 };

struct owner {
  struct world w;
  struct buf scratch;
  enum link_era era;  // what is known of the server
  struct link *link;  // NULL when it was closed or freed
  int ready, closed;
  struct fault why;                    // it was closed
  bool wrong_transport, probe_failed;  // then
  struct buf heard;                    // a line for each thing that happened
  int lines;                           // of them
  // what to do in a callback
  bool free_when_ready, free_when_told;
  bool refuse;  // requests of the server, instead of answering them
};

static inline void note(struct owner *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void note(struct owner *o, const char *fmt, ...) {
  va_list ap;
  char text[4096];
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  buf_printf(&o->heard, "%s\n", text);
  o->lines++;
}

// ---- events

static inline void owner_ready(void *ctx, struct link *l) {
  struct owner *o = ctx;
  assert_ptr_equal(l, o->link);
  assert_true(link_ready(l));
  o->ready++;
  if (o->free_when_ready) link_free(&o->link);
}

static inline void owner_closed(void *ctx, struct link *l, const struct fault *f) {
  struct owner *o = ctx;
  assert_false(link_ready(l));
  o->closed++;
  o->why = *f;
  o->wrong_transport = link_wrong_transport(l);
  o->probe_failed = link_probe_failed(l);
  o->link = NULL;
  note(o, "closed");
}

static inline void owner_reachable(void *ctx, struct link *l, const struct fault *f) {
  struct owner *o = ctx;
  assert_true(link_ready(l));
  note(o, f ? "out of reach" : "in reach again");
  if (o->free_when_told) link_free(&o->link);
}

static inline void owner_request(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m) {
  struct owner *o = ctx;
  note(o, "asked %.*s%s", STR_ARG(m->method), via ? " on a call's stream" : "");
  if (o->refuse) link_refuse(l, json_span(m->id), RPC_METHOD_NOT_FOUND, STR("not here"));
  else link_reply(l, json_span(m->id), STR("{\"ok\":true}"));
}

static inline void owner_notification(void *ctx, struct link *l, struct link_call *via, const struct rpc_message *m) {
  struct owner *o = ctx;
  note(o, "told %.*s%s%.*s%s", STR_ARG(m->method), m->params ? " " : "", m->params ? (int)m->params->n : 0,
       m->params ? m->params->p : "", via ? " on a call's stream" : "");
  if (o->free_when_told) link_free(&o->link);
}

static const struct link_events owner_events = {
    .ready = owner_ready,
    .closed = owner_closed,
    .reachable = owner_reachable,
    .request = owner_request,
    .notification = owner_notification,
};

// ---- calls

struct ask {
  struct link_call call;
  struct owner *o;
  char name;
  int done, progress, polled;
  bool free_link;  // when it is done
  struct fault fault;
};

static inline void ask_done(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
  struct ask *a = CONTAINER_OF(c, struct ask, call);
  assert_null(c->link);
  assert_true(!reply != !f);
  a->done++;
  if (f) a->fault = *f;
  if (f) note(a->o, "%c failed %s", a->name, fault_name(f->code));
  else note(a->o, "%c got %.*s", a->name, STR_ARG(json_span(reply->result ? reply->result : reply->error)));
  if (a->free_link) link_free(&a->o->link);
}

static inline void ask_progress(struct link_call *c, const struct rpc_message *notification) {
  CONTAINER_OF(c, struct ask, call)->progress++;
}

static inline void ask_polled(struct link_call *c) {
  CONTAINER_OF(c, struct ask, call)->polled++;
}

static inline void ask_init(struct ask *a, struct owner *o, char name) {
  *a = (struct ask){.o = o, .name = name, .call = {.done = ask_done, .progress = ask_progress, .polled = ask_polled}};
}

static inline void ask_send(struct ask *a, struct owner *o, char name, str method, str params) {
  ask_init(a, o, name);
  link_call_begin(o->link, &a->call, 2000, 0);
  link_call_send(&a->call, method, params);
}

// ---- the owner

static inline void owner_open(struct owner *o, const struct http_server_options *opt,
                              void (*on_request)(void *ctx, struct http_exchange *x)) {
  world_open(&o->w, opt, on_request, o);
  o->era = LINK_ERA_HANDSHAKE;
  buf_init(&o->scratch, 1 << 20);
  buf_init(&o->heard, 1 << 20);
}

static inline void owner_close(struct owner *o) {
  link_free(&o->link);
  buf_done(&o->scratch);
  buf_done(&o->heard);
}

static inline struct link_options link_options(struct owner *o) {
  return (struct link_options){.era = o->era,
                               .loop = &o->w.loop,
                               .scratch = &o->scratch,
                               .name = STR("srv"),
                               .capabilities = STR("{\"roots\":{}}"),
                               .start_ms = START_MS,
                               .max_message = MAX_MESSAGE};
}

// What has happened since the last time is exactly this, now or soon.
static inline void happens(struct owner *o, const char *want) {
  size_t n = strlen(want);
  for (uint64_t until = real_ms() + DEADLINE_MS; o->heard.n < n;) {
    uv_run(&o->w.loop.uv, UV_RUN_NOWAIT);
    if (o->heard.n >= n) break;
    if (real_ms() + 20 > until) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&o->heard)), want);
    turn(&o->w, -1, until);
  }
  if (!str_eq(buf_view(&o->heard), str_of(want)))
    fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&o->heard)), want);
  buf_reset(&o->heard);
}

static inline void assert_why(const struct owner *o, enum fault_code code, const char *text) {
  if (o->why.code != code || !strstr(o->why.message, text))
    fail_msg("closed with %s: %s", fault_name(o->why.code), o->why.message);
}

// It opened, or it did not.
static inline void wait_settled(struct owner *o) {
  for (uint64_t until = real_ms() + DEADLINE_MS; !o->ready && !o->closed;) turn(&o->w, -1, until);
}

static inline void wait_ready(struct owner *o) {
  wait_settled(o);
  if (!o->ready) fail_msg("closed: %s", o->why.message);
}

static inline void wait_closed(struct owner *o) {
  wait_for(&o->w, &o->closed, 1);
  buf_reset(&o->heard);
}
