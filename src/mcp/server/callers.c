// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/callers.h"

#include <stdio.h>

#include "base/assert.h"
#include "mcp/meta.h"
#include "json/write.h"

enum { MAX_CAPABILITIES = 65536, MAX_CLIENT = 65536, MAX_ID = 1024, MAX_IDLE = 256, SWEEP_MS = 1000 };

// ---- checking

static bool refuse(struct refusal *out, int code, const char *message) {
  *out = (struct refusal){.code = code};
  snprintf(out->message, sizeof out->message, "%s", message);
  return false;
}

static bool refuse_version(struct refusal *out, str requested) {
  const char *supported = mcp_revision_stateless()->name;
  *out = (struct refusal){.code = RPC_UNSUPPORTED_VERSION};
  snprintf(out->message, sizeof out->message, "Unsupported protocol version: requests with _meta must use %s",
           supported);
  struct buf data;
  buf_init(&data, sizeof out->data - 1);
  buf_printf(&data, "{\"supported\":[\"%s\"],\"requested\":", supported);
  json_escape(&data, requested.n < 64 ? requested : STR("(too long)"));
  buf_char(&data, '}');
  if (!data.over) memcpy(out->data, data.p, data.n);
  buf_done(&data);
  return false;
}

bool callers_claims(const struct request *r) {
  return meta_claim(r->value) != NULL;
}

static bool check_meta(struct request *r, struct refusal *out) {
  r->meta = meta_read(json_get(r->msg.params, STR("_meta")));
  const struct json *capabilities = r->meta.capabilities, *client = r->meta.client, *level = r->meta.log_level;
  if (!json_is(r->meta.version, JSON_STRING))
    return refuse(out, RPC_INVALID_PARAMS,
                  "Invalid params: io.modelcontextprotocol/protocolVersion in _meta must be a string");
  if (!json_is(capabilities, JSON_OBJECT))
    return refuse(out, RPC_INVALID_PARAMS,
                  "Invalid params: io.modelcontextprotocol/clientCapabilities in _meta must be an object");
  if (client && client->type != JSON_OBJECT)
    return refuse(out, RPC_INVALID_PARAMS,
                  "Invalid params: io.modelcontextprotocol/clientInfo in _meta must be an object");
  if (capabilities->n > MAX_CAPABILITIES || (client && client->n > MAX_CLIENT))
    return refuse(out, RPC_INVALID_PARAMS, "Invalid params: clientCapabilities or clientInfo is larger than 64 KiB");
  if (level && session_log_level(level) == SESSION_LOG_UNSET)
    return refuse(out, RPC_INVALID_PARAMS, "Invalid params: io.modelcontextprotocol/logLevel is not a log level");
  return true;
}

bool callers_check(struct request *r, struct refusal *out) {
  struct rpc_error err;
  if (!rpc_read(r->value, &r->arena, &r->msg, &err)) return refuse(out, err.code, err.message);
  if (r->msg.kind != RPC_REQUEST)
    return refuse(out, RPC_INVALID_REQUEST, "Invalid Request: the message is not a request");
  // The size of the id is limited, because every notification of a listening request contains the id.
  if (r->msg.id->n > MAX_ID) return refuse(out, RPC_INVALID_REQUEST, "Invalid Request: the id is longer than 1 KiB");
  return check_meta(r, out);
}

bool callers_speaks(struct request *r, struct refusal *out) {
  str version = STR_NONE;
  json_string(r->meta.version, &r->arena, &version);
  const struct mcp_revision *revision = mcp_revision_find(version);
  return (revision && revision->stateless) || refuse_version(out, version);
}

// ---- lending

static bool is_object(const struct json *o, str name) {
  return json_is(json_get(o, name), JSON_OBJECT);
}

// Returns whether the client needs its own session: true if the client accepts requests or log messages of servers,
// which must not reach other clients.
static bool wants_alone(const struct meta *meta) {
  const struct json *c = meta->capabilities;
  return meta->log_level || is_object(c, STR("sampling")) || is_object(c, STR("elicitation")) ||
         is_object(c, STR("roots"));
}

// Returns the key of the session for this request. Requests with equal keys may use the same session: they have the
// same principal, mode and claims and, if `alone`, the same capabilities, client information and log level.
static str key_of(struct request *r, struct client_identity who, bool alone) {
  if (!alone)
    return arena_printf(&r->arena, "%d %d %.*s", who.principal, who.mode, STR_ARG(who.claims.p ? who.claims : STR("")));
  str client = r->meta.client ? json_span(r->meta.client) : STR_NONE;
  return arena_printf(&r->arena, "%d %d %d %.*s %.*s %.*s", who.principal, who.mode,
                      session_log_level(r->meta.log_level), STR_ARG(json_span(r->meta.capabilities)), STR_ARG(client),
                      STR_ARG(who.claims.p ? who.claims : STR("")));
}

// Returns the most recently used idle session with this key, because its connections are most likely still open.
static struct session *find_idle(struct callers *c, str key) {
  for (struct list *it = c->idle.prev; it != &c->idle; it = it->prev) {
    struct session *s = CONTAINER_OF(it, struct session, idle);
    if (str_eq(s->key, key)) return s;
  }
  return NULL;
}

bool callers_let_go(struct callers *c, struct session *s) {
  ASSERT(s->callers == c);
  bool idle = !list_empty(&s->idle);
  if (idle) session_close(&s);
  return idle;
}

bool callers_let_go_oldest(struct callers *c) {
  struct session *s = list_empty(&c->quiet) ? NULL : CONTAINER_OF(c->quiet.next, struct session, idle);
  return s && loop_now(c->server->loop) - s->idle_since >= c->opt.idle_ms && callers_let_go(c, s);
}

static bool make_room(struct callers *c, struct client_identity who, struct refusal *out) {
  switch (sessions_make_room(c->server, who)) {
  case SESSION_ROOM: return true;
  case SESSION_ROOM_NONE:
    if (callers_let_go_oldest(c)) return true;
    return refuse(out, RPC_INTERNAL_ERROR, "too many requests are in flight; try again later");
  case SESSION_ROOM_SHARE: break;
  }
  refuse(out, RPC_INTERNAL_ERROR, "too many requests of this principal are in flight; try again later");
  out->status = 429;
  return false;
}

static struct session *new_session(struct callers *c, struct client_identity who, str key) {
  struct session *s = session_new(c->server, c->opt.outlet, c->opt.channel, who);
  s->callers = c;
  s->revision = mcp_revision_stateless();
  s->key = arena_str(&s->arena, key);
  session_share_mark(s);
  return s;
}

struct session *callers_lend(struct callers *c, struct request *r, struct client_identity who, struct refusal *out) {
  struct mcp_server *m = c->server;
  const struct meta *meta = &r->meta;
  ASSERT(meta->capabilities && !r->session);
  bool listens = str_eq(r->msg.method, STR("subscriptions/listen"));
  bool alone = !listens && wants_alone(meta), exclusive = alone && !c->opt.one_client;
  str key = listens ? STR("listen") : key_of(r, who, alone);
  struct session *s = listens ? NULL : exclusive ? find_idle(c, key) : map_find(&c->shared, key);
  if (!s) {
    if (!make_room(c, who, out)) return NULL;
    s = new_session(c, who, key);
    s->lent = listens ? LENT_ONCE : exclusive ? LENT_ALONE : LENT_SHARED;
    if (alone) {
      session_take_client(s, meta->capabilities, meta->client);
      // A server with sessions may get the roots of several clients in turn. call/steps/step_roots.c then sends it
      // list_changed for the roots, so the capabilities must declare this notification.
      struct json_edit roots = {STR("roots"), STR("{\"listChanged\":true}")};
      if (s->can_list_roots) s->capabilities = json_edited(&s->arena, meta->capabilities, &roots, 1);
      s->log_level = session_log_level(meta->log_level);
    }
    if (s->lent == LENT_SHARED) map_add(&c->shared, s->key, s);
    s->state = SESSION_OPEN;
    log_debug(m->loop->log, "session %.8s: serves stateless requests, MCP %s%s", s->id, s->revision->name,
              session_askable(s) ? ", client accepts messages of servers" : "");
    m->surface->attached(m->surface_ctx, s);
    m->surface->opened(m->surface_ctx, s);
  }
  list_remove(&s->idle);
  s->stream_closed = false;
  return s;
}

// Reports a refused request to the server's callbacks (m->surface). The request gets a temporary session that
// identifies the client to these callbacks.
static void note_refusal(struct callers *c, struct request *r, struct client_identity who, int code) {
  struct mcp_server *m = c->server;
  if (!m->surface->refused) return;
  struct session *s = new_session(c, who, STR_NONE);
  s->lent = LENT_ONCE;
  r->session = s;
  r->code = code;
  m->surface->refused(m->surface_ctx, r);
  if (r->note) m->surface->over(m->surface_ctx, r, STR(""));
  session_close(&s);
}

void callers_refuse(struct callers *c, struct request *r, struct client_identity who, const struct refusal *why,
                    struct buf *out) {
  const struct json *id = json_get(r->value, STR("id"));
  bool usable = id && (id->type == JSON_STRING || id->type == JSON_NUMBER);
  r->msg.id = usable ? id : NULL;
  r->id = usable ? json_span(id) : STR_NONE;
  note_refusal(c, r, who, why->code);
  buf_reset(out);
  rpc_put_error(out, r->id, why->code, str_of(why->message), str_of(why->data));
  request_discard(c->server, r);
}

// Returns whether an idle session is kept without a time limit. This is true for shared sessions without their own
// connections to servers.
static bool stays(const struct session *s) {
  return s->lent == LENT_SHARED && !session_askable(s);
}

void callers_return(struct callers *c, struct session *s) {
  ASSERT(s->callers == c);
  if (s->closing || s->in_flight || s->parked) return;
  if (s->lent == LENT_ONCE) {
    session_close(&s);
    return;
  }
  s->idle_since = loop_now(c->server->loop);
  list_remove(&s->idle);
  if (stays(s)) {
    list_push(&c->quiet, &s->idle);
    return;
  }
  s->stream_closed = true;
  // The next request borrows the last session of the list. That should be a session that already has lanes (connections
  // to servers), so a session without lanes is put at the front.
  list_push(s->has_lanes ? &c->idle : c->idle.next, &s->idle);
  if (!timer_running(&c->sweep)) timer_start(c->server->loop, &c->sweep, SWEEP_MS);
}

void callers_touch(struct session *s) {
  if (!s->callers || list_empty(&s->idle)) return;
  s->idle_since = loop_now(s->callers->server->loop);
  list_remove(&s->idle);
  list_push(stays(s) ? &s->callers->quiet : &s->callers->idle, &s->idle);
}

void callers_forget(struct callers *c, struct session *s) {
  ASSERT(s->callers == c && s->closing);
  if (s->lent == LENT_SHARED) map_remove(&c->shared, s->key);
}

static void on_sweep(struct timer *t) {
  struct callers *c = CONTAINER_OF(t, struct callers, sweep);
  uint64_t now = loop_now(c->server->loop);
  size_t count = 0;
  LIST_EACH(it, &c->idle) count++;
  LIST_EACH(it, &c->idle) {
    struct session *s = CONTAINER_OF(it, struct session, idle);
    // If more than MAX_IDLE sessions are idle, sessions of principals that have more than an equal share of MAX_IDLE
    // are closed early.
    bool too_many = count > MAX_IDLE && s->share->count > MAX_IDLE / map_count(&c->server->shares.by_name);
    if (!too_many && now - s->idle_since < c->opt.idle_ms) continue;
    count--;
    session_close(&s);
  }
  if (!list_empty(&c->idle)) timer_start(c->server->loop, &c->sweep, SWEEP_MS);
}

// ---- all lent sessions

void callers_init(struct callers *c, struct mcp_server *m, const struct callers_options *opt) {
  *c = (struct callers){.server = m, .opt = *opt};
  map_init(&c->shared, &m->loop->seed);
  list_init(&c->idle);
  list_init(&c->quiet);
  timer_init(&c->sweep, on_sweep);
}

void callers_done(struct callers *c) {
  for (struct list *it = c->server->sessions.next; it != &c->server->sessions;) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    it = it->next;
    if (s->callers != c) continue;
    session_close(&s);
    it = c->server->sessions.next;  // closing one session may close others
  }
  ASSERT(list_empty(&c->idle) && list_empty(&c->quiet) && !map_count(&c->shared));
  map_done(&c->shared);
  timer_stop(&c->sweep);
}

bool callers_cancel(struct callers *c, struct request *notification) {
  const struct rpc_message *m = &notification->msg;
  const struct json *id = json_get(m->params, STR("requestId"));
  LIST_EACH(it, &c->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    struct request *r = s->callers == c ? session_find_request(s, id) : NULL;
    if (!r) continue;
    str reason = STR("the client cancelled the request");
    json_string(json_get(m->params, STR("reason")), &notification->arena, &reason);
    session_message_received(s, m, notification->value, true);
    request_cancel(r, reason);
    return true;
  }
  return false;
}

static struct request *listening(const struct session *s, const struct callers *c) {
  bool listens = s->callers == c && s->lent == LENT_ONCE && !list_empty(&s->requests);
  return listens ? CONTAINER_OF(s->requests.next, struct request, node) : NULL;
}

static void end_listening(struct callers *c, bool all, int64_t now) {
  const struct mcp_server *m = c->server;
  // Answering a request closes its session and so changes the list, so the search starts again after each answer.
  for (bool again = true; again;) {
    again = false;
    LIST_EACH(it, &m->sessions) {
      const struct session *s = CONTAINER_OF(it, struct session, node);
      struct request *r = all || (s->until && now >= s->until) ? listening(s, c) : NULL;
      if (!r) continue;
      m->surface->stopping(m->surface_ctx, r);
      again = true;
      break;
    }
  }
}

void callers_drain(struct callers *c) {
  end_listening(c, true, 0);
}

void callers_expire(struct callers *c, int64_t now) {
  end_listening(c, false, now);
}

bool callers_busy(const struct callers *c) {
  LIST_EACH(it, &c->server->sessions) {
    const struct session *s = CONTAINER_OF(it, struct session, node);
    if (s->callers == c && s->in_flight && !listening(s, c)) return true;
  }
  return false;
}
