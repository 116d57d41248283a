// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/stateless.h"

#include <stdio.h>

#include "base/assert.h"
#include "mcp/header.h"
#include "mcp/meta.h"
#include "mcp/server/event_stream.h"

enum { LISTEN_BACKLOG = 1 << 20 };  // a client with more bytes of unread notifications is disconnected

// ---- answers

static void refuse(struct stateless *t, struct http_exchange *x, struct request *r, struct client_identity who,
                   int status, const struct refusal *why) {
  struct buf *b = &t->callers.server->scratch;
  callers_refuse(&t->callers, r, who, why, b);
  http_reply(x, status, STR_NONE, STR("application/json"), buf_view(b));
}

static void on_lost(struct event_stream *es) {
  struct request *r = event_stream_owner(es);
  if (r) {
    r->channel = NULL;
    request_cancel(r, STR("the client closed the connection"));
  }
  event_stream_free(&es);
}

static void on_over(struct event_stream *es) {
  event_stream_free(&es);
}

static void on_flow(struct event_stream *es, bool go) {
  struct request *r = event_stream_owner(es);
  if (!r) return;
  struct mcp_server *m = r->session->server;
  m->surface->flow(m->surface_ctx, r->session, go);
}

static const struct event_stream_events stream_events = {on_lost, on_over, on_flow};

static void outlet_send(struct session *s, struct request *related, str message) {
  if (related && related->channel) event_stream_send(related->channel, (struct payload){message, NULL});
}

static void outlet_answer(struct request *r, struct payload message) {
  struct event_stream *es = r->channel;
  if (!es) return;
  event_stream_disown(es);
  event_stream_answer(es, r->status ? r->status : 200, message);
}

static const struct outlet_ops outlet = {.send = outlet_send, .answer = outlet_answer};

// ---- headers that repeat the body

static bool mismatch(struct refusal *out, const char *header, const char *what) {
  *out = (struct refusal){.code = RPC_HEADER_MISMATCH};
  snprintf(out->message, sizeof out->message, "Header mismatch: %s %s", header, what);
  return false;
}

// The headers that repeat values of the body, by their index in header_names.
enum { VERSION, METHOD, NAME, HEADERS };
static const str header_names[HEADERS] = {STR("MCP-Protocol-Version"), STR("Mcp-Method"), STR("Mcp-Name")};

struct repeats {
  const struct http_header *first[HEADERS];  // NULL if the header is missing; the HTTP parser refuses a repeated header
};

// Finds the headers that repeat values of the body. Stores the Mcp-Param-* headers in r for a later check: the tool,
// which decides which of them are required, is not known yet.
static struct repeats read_headers(const struct http_head *h, struct request *r) {
  static const str prefix = STR("mcp-param-");
  struct repeats out = {0};
  r->by_http = true;
  for (const struct http_header *it = h->headers, *end = it + h->header_count; it < end; it++) {
    if ((it->name.p[0] | 0x20) != 'm') continue;
    for (int i = 0; i < HEADERS; i++)
      if (str_eq_nocase(it->name, header_names[i])) out.first[i] = it;
    if (it->name.n <= prefix.n || !str_eq_nocase((str){it->name.p, prefix.n}, prefix)) continue;
    if (!r->param_headers) r->param_headers = ARENA_ARRAY(&r->arena, struct request_param_header, h->header_count);
    ASSERT(r->param_header_count < h->header_count);
    r->param_headers[r->param_header_count++] = (struct request_param_header){
        arena_str(&r->arena, str_from(it->name, prefix.n)), arena_str(&r->arena, it->value)};
  }
  return out;
}

static bool same(const struct repeats *h, int which, str value, struct refusal *out) {
  const char *name = header_names[which].p;
  if (!h->first[which]) return mismatch(out, name, "is missing; it must repeat the body");
  switch (header_compare(h->first[which]->value, value)) {
  case HEADER_SAME: return true;
  case HEADER_MALFORMED: return mismatch(out, name, "has an invalid =?base64?…?= value");
  case HEADER_DIFFERENT: break;
  }
  return mismatch(out, name, "differs from the body");
}

// Returns the name of the member of params that the header Mcp-Name repeats, or STR_NONE if the method needs no
// Mcp-Name.
static str named_by(str method) {
  static const struct {
    str method, member;
  } table[] = {
      {STR("tools/call"), STR("name")},  {STR("prompts/get"), STR("name")},    {STR("resources/read"), STR("uri")},
      {STR("tasks/get"), STR("taskId")}, {STR("tasks/update"), STR("taskId")}, {STR("tasks/cancel"), STR("taskId")},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (str_eq(method, table[i].method)) return table[i].member;
  return STR_NONE;
}

static bool headers_agree(const struct http_exchange *x, struct request *r, struct refusal *out) {
  struct repeats h = read_headers(x->head, r);
  str version = STR_NONE, member = named_by(r->msg.method), value;
  json_string(r->meta.version, &r->arena, &version);
  // First compares the revision in the header with the revision in the body, so that a mismatch is reported before an
  // unsupported revision.
  if (h.first[VERSION] && !same(&h, VERSION, version, out)) return false;
  if (!callers_speaks(r, out) || !same(&h, VERSION, version, out)) return false;
  if (!same(&h, METHOD, r->msg.method, out)) return false;
  // If this member of params is missing or no string, a later check refuses the request.
  if (!member.p || !json_string(json_get(r->msg.params, member), &r->arena, &value)) return true;
  return same(&h, NAME, value, out);
}

// ---- requests

bool stateless_stated(const struct http_exchange *x) {
  str version = http_value(x->head, STR("mcp-protocol-version"));
  const struct mcp_revision *revision = version.p ? mcp_revision_find(str_trim(version)) : NULL;
  return revision && revision->stateless;
}

bool stateless_takes(const struct http_exchange *x, const struct request *r) {
  return stateless_stated(x) || callers_claims(r);
}

void stateless_post(struct stateless *t, struct http_exchange *x, struct request *r, struct client_identity who) {
  struct mcp_server *m = t->callers.server;
  struct refusal why;
  if (json_get(r->value, STR("method")) &&
      !json_get(r->value, STR("id"))) {  // the stateless revision has no notifications over HTTP
    why = (struct refusal){.code = RPC_METHOD_NOT_FOUND};
    callers_refuse(&t->callers, r, who, &why, &m->scratch);
    http_reply(x, 202, STR_NONE, STR_NONE, STR_NONE);
    return;
  }
  if (!callers_check(r, &why) || !headers_agree(x, r, &why)) {
    refuse(t, x, r, who, 400, &why);
    return;
  }
  bool listens = str_eq(r->msg.method, STR("subscriptions/listen"));
  if (listens && t->draining) {
    why = (struct refusal){.code = RPC_INTERNAL_ERROR, .message = "shutting down"};
    refuse(t, x, r, who, 503, &why);
    return;
  }
  struct session *s = callers_lend(&t->callers, r, who, &why);
  if (!s) {
    refuse(t, x, r, who, why.status ? why.status : 503, &why);
    return;
  }
  struct event_stream_options opt = {
      .loop = m->loop,
      .scratch = t->events,
      .keepalive_ms = t->keepalive_ms,
      .backlog = listens ? LISTEN_BACKLOG : 0,
  };
  struct event_stream *es = event_stream_new(&opt, &stream_events, 0, r);
  event_stream_attach(es, x, STR_NONE);
  event_stream_expect(es);
  session_serve(s, r, es);
}

void stateless_init(struct stateless *t, struct mcp_server *m, uint64_t keepalive_ms, uint64_t idle_ms,
                    struct buf *events) {
  struct callers_options opt = {.outlet = &outlet, .idle_ms = idle_ms};
  callers_init(&t->callers, m, &opt);
  t->keepalive_ms = keepalive_ms;
  t->events = events;
}

void stateless_drain(struct stateless *t) {
  t->draining = true;
  callers_drain(&t->callers);
}

void stateless_done(struct stateless *t) {
  callers_done(&t->callers);
}
