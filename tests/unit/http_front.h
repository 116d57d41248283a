// SPDX-License-Identifier: Apache-2.0
// A server for tests, on a loopback socket: ways to answer, its usual options, and what its clients expect.
#pragma once
#include "http_world.h"

enum { MAX_HELD = 16, MAX_QUEUED = 4 << 20 };
enum { HEAD_MS = 1000, BODY_MS = 3000, IDLE_MS = 10000, WRITE_MS = 5000 };

struct front {
  struct world w;
  void (*handle)(struct front *f, struct http_exchange *x);
  int requests, aborts, drains, drained;
  struct http_exchange *held[MAX_HELD];
  int held_count;
  str text;  // for some of the answers
};

static inline void on_request(void *ctx, struct http_exchange *x) {
  struct front *f = ctx;
  f->requests++;
  f->handle(f, x);
}

// ---- ways to answer

static inline void reply_text(struct http_exchange *x, str text) {
  http_reply(x, 200, STR_NONE, STR("text/plain"), text);
}

// "METHOD target body"
static inline void echo(struct front *f, struct http_exchange *x) {
  struct buf b;
  buf_init(&b, 4 << 20);
  buf_printf(&b, "%.*s %.*s ", STR_ARG(x->head->method), STR_ARG(x->head->target));
  buf_str(&b, x->body);
  reply_text(x, buf_view(&b));
  buf_done(&b);
}

static inline void count_abort(struct http_exchange *x) {
  ((struct front *)x->owner)->aborts++;
}
static inline void count_drain(struct http_exchange *x) {
  ((struct front *)x->owner)->drains++;
}

static inline void hold(struct front *f, struct http_exchange *x) {
  assert_true(f->held_count < MAX_HELD);
  x->owner = f;
  x->on_abort = count_abort;
  x->on_drain = count_drain;
  f->held[f->held_count++] = x;
}

static inline void answer_with_text(struct front *f, struct http_exchange *x) {
  reply_text(x, f->text);
}

// ---- set-up

static const struct http_server_options usual = {
    .limits = {16384, 1 << 20},
    .max_connections = 64,
    .max_queued = MAX_QUEUED,
    .head_ms = HEAD_MS,
    .body_ms = BODY_MS,
    .idle_ms = IDLE_MS,
    .write_ms = WRITE_MS,
};

static inline void front_open_with(struct front *f, void (*handle)(struct front *, struct http_exchange *),
                                   const struct http_server_options *opt) {
  *f = (struct front){.handle = handle};
  world_open(&f->w, opt, on_request, f);
}

static inline void front_open(struct front *f, void (*handle)(struct front *, struct http_exchange *)) {
  front_open_with(f, handle, &usual);
}

static inline void front_close(struct front *f) {
  world_close(&f->w);
}

static inline void expect_text(struct client *c, const char *body) {
  char want[512];
  snprintf(want, sizeof want, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s",
           strlen(body), body);
  expect(c, want);
}

static inline void expect_last_text(struct client *c, const char *body) {
  char want[512];
  snprintf(want, sizeof want,
           "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
           strlen(body), body);
  expect(c, want);
}

static inline void expect_refusal(struct client *c, int status) {
  char want[64];
  snprintf(want, sizeof want, "HTTP/1.1 %d ", status);
  expect(c, want);
  expect_later(c, "Connection: close\r\n");
  expect_later(c, "\r\n\r\n");
  read_to_end(c);
}
