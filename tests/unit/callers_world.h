// SPDX-License-Identifier: Apache-2.0
// What the tests of stateless clients share: a server role whose surface does what the method says ("echo" answers,
// "hold" and "subscriptions/listen" wait), a clock that only the test moves, and the text of requests.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "mcp/server/callers.h"

enum { WORLD_HELD = 64, WORLD_SESSIONS = 6, WORLD_MESSAGE = 1 << 20 };

// What happened is written down, a line for each thing.
struct callers_world {
  struct work work;  // on what is held
  struct mcp_server server;
  struct buf out;
  struct request *held[WORLD_HELD];
  int held_count, attached, opened, closed, goes, stalls;
};

#define VERSION "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""
#define CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\":"
#define CLIENT "\"io.modelcontextprotocol/clientInfo\":"
#define LEVEL "\"io.modelcontextprotocol/logLevel\":"
#define META(members) "\"_meta\":{" VERSION "," members "}"
#define REQUEST(id, method, members) \
  "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" META(members) "}}"

#define PLAIN CAPABILITIES "{}"
#define ELICITS CAPABILITIES "{\"elicitation\":{}}"

// ---- the surface

static inline void world_attached(void *ctx, struct session *s) {
  struct callers_world *w = ctx;
  assert_int_equal(s->state, SESSION_OPEN);
  w->attached++;
}

static inline void world_describe(void *ctx, struct session *s, struct json_writer *w) {
  json_put_key(w, STR("capabilities"));
  json_put_raw(w, STR("{\"tools\":{}}"));
}

static inline void world_opened(void *ctx, struct session *s) {
  struct callers_world *w = ctx;
  w->opened++;
  assert_int_equal(w->attached, w->opened);
}

static inline void world_closed(void *ctx, struct session *s) {
  assert_true(list_empty(&s->requests));
  ((struct callers_world *)ctx)->closed++;
}

static inline void world_cancelled(struct work *work, struct request *r, str reason) {
  buf_printf(&CONTAINER_OF(work, struct callers_world, work)->out, "cancelled %.*s: %.*s\n", STR_ARG(r->id),
             STR_ARG(reason));
}

static const struct work_ops world_work = {"held", world_cancelled};

static inline void world_request(void *ctx, struct request *r) {
  struct callers_world *w = ctx;
  if (str_eq(r->msg.method, STR("echo"))) {
    request_reply(r, STR("{\"a\":1}"));
  } else if (str_eq(r->msg.method, STR("tell"))) {
    session_notify(r->session, NULL, STR("notifications/to-nobody"), STR_NONE);
    session_notify(r->session, r, STR("notifications/told"), STR_NONE);
    request_reply(r, STR("{}"));
  } else if (str_eq(r->msg.method, STR("hold")) || str_eq(r->msg.method, STR("subscriptions/listen"))) {
    assert_true(w->held_count < WORLD_HELD);
    w->work.ops = &world_work;
    if (str_eq(r->msg.method, STR("hold"))) r->work = &w->work;
    w->held[w->held_count++] = r;
  } else {
    request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
  }
}

static inline void world_notification(void *ctx, struct session *s, const struct rpc_message *m) {
  fail_msg("a stateless client has no notifications: %.*s", STR_ARG(m->method));
}

static inline void world_flow(void *ctx, struct session *s, bool go) {
  struct callers_world *w = ctx;
  if (go) w->goes++;
  else w->stalls++;
}

static inline void world_stopping(void *ctx, struct request *r) {
  request_reply_whole(r, STR("{\"stopped\":true}"));
}

static const struct surface_ops world_surface = {
    .attached = world_attached,
    .describe = world_describe,
    .opened = world_opened,
    .closed = world_closed,
    .request = world_request,
    .notification = world_notification,
    .flow = world_flow,
    .stopping = world_stopping,
};

// ---- set-up

static inline void callers_world_open(struct callers_world *w, struct loop *loop) {
  static const struct mcp_server_limits limits = {
      .max_sessions = WORLD_SESSIONS, .max_in_flight = 16, .max_held = 1 << 28, .max_message = WORLD_MESSAGE};
  mcp_server_init(&w->server, loop, &world_surface, w, &limits);
  buf_init(&w->out, 4 << 20);
}

static inline void callers_world_close(struct callers_world *w) {
  assert_int_equal(w->server.shares.total, 0);
  assert_int_equal(w->opened, w->closed);
  mcp_server_done(&w->server);
  buf_done(&w->out);
}

// What has happened since the last time is exactly this.
static inline void happened(struct callers_world *w, const char *want) {
  if (!str_eq(buf_view(&w->out), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&w->out)), want);
  buf_reset(&w->out);
}

static inline struct request *parsed(struct callers_world *w, const char *text) {
  struct fault f;
  struct request *r = request_parse(&w->server, str_of(text), &f);
  if (!r) fail_msg("%s: %s", text, f.message);
  return r;
}
