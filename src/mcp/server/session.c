// SPDX-License-Identifier: Apache-2.0
#include "mcp/server/session.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "mcp/meta.h"
#include "mcp/methods.h"
#include "mcp/server/callers.h"
#include "json/canon.h"

enum {
  MAX_CAPABILITIES = 65536,
  KEPT_FREELY = 16384,  // client information of up to this many bytes is not counted
};

void mcp_server_init(struct mcp_server *m, struct loop *l, const struct surface_ops *surface, void *ctx,
                     const struct mcp_server_limits *limits) {
  *m = (struct mcp_server){
      .loop = l,
      .surface = surface,
      .surface_ctx = ctx,
      .principal_sessions = limits->principal_sessions,
      .max_in_flight = limits->max_in_flight,
      .max_held = limits->max_held,
  };
  intake_init(&m->intake, l, limits->held_bytes, limits->principal_held_bytes);
  shares_init(&m->shares, &l->seed, limits->max_sessions);
  list_init(&m->sessions);
  list_init(&m->free_requests);
  // Leaves room for ids, tokens and names that the gateway replaces: a message may thereby become larger.
  buf_init(&m->scratch, limits->max_message + 65536);
  m->limits = m->request_limits =
      (struct json_limits){.max_bytes = limits->max_message, .max_depth = json_default_limits.max_depth};
  m->request_limits.max_values = limits->max_values;
}

void mcp_server_done(struct mcp_server *m) {
  ASSERT(list_empty(&m->sessions));
  shares_done(&m->shares);
  intake_done(&m->intake);
  requests_free_spare(m);
  buf_done(&m->scratch);
}

// ---- sessions

// Returns the name of the principal to which a session of this client is counted, or STR_NONE if the client has no
// credential.
static str payer_of(struct client_identity who) {
  return who.principal < 0 ? STR_NONE : who.name;
}

// Ends the least recently used session of this share that is not in use. With `if_never_used`, skips sessions that had
// a request after initialize.
static bool let_one_go(struct share *share, bool if_never_used) {
  LIST_EACH(it, &share->members) {
    struct session *s = CONTAINER_OF(it, struct session, by_use);
    ASSERT_MAGIC(s, SESSION_MAGIC);
    if (if_never_used && !s->callers && s->used) continue;
    if (s->callers ? callers_let_go(s->callers, s) : s->outlet->let_go && s->outlet->let_go(s)) return true;
  }
  return false;
}

enum session_room sessions_make_room(struct mcp_server *m, struct client_identity who) {
  str payer = payer_of(who);
  struct share *own = shares_find(&m->shares, payer);
  bool few = !own || !payer.n || !m->principal_sessions || own->count < m->principal_sessions;
  if (few && shares_allow(&m->shares, payer, 0)) return SESSION_ROOM;
  if (!own) return SESSION_ROOM_NONE;
  // All clients without a credential have one share in common. In that share, sessions that were never used after
  // initialize end first.
  if ((!payer.n && let_one_go(own, true)) || let_one_go(own, false)) return SESSION_ROOM;
  return payer.n ? SESSION_ROOM_SHARE : SESSION_ROOM_NONE;
}

void session_used(struct session *s) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  list_remove(&s->by_use);
  list_push(&s->share->members, &s->by_use);
}

// Derives the mark, which begins the gateway's own lines in results, from `owner` and the hash seed of this process.
// Nine digits cost a model only three tokens.
static void set_mark(struct session *s, str owner) {
  enum { MARKS = 1000000000 };
  if (s->as_operator) snprintf(s->mark, sizeof s->mark, "…");
  else snprintf(s->mark, sizeof s->mark, "[tg%09u]", (unsigned)(hash_sip(&s->server->loop->seed, owner) % MARKS));
}

void session_share_mark(struct session *s) {
  set_mark(s,
           arena_printf(&s->arena, "mark of %.*s as %.*s", STR_ARG(session_principal(s)), STR_ARG(session_agent(s))));
}

struct session *session_new(struct mcp_server *m, const struct outlet_ops *outlet, void *channel,
                            struct client_identity who) {
  ASSERT(outlet->send && outlet->answer);
  struct session *s = MEM_NEW(struct session);
  s->magic = SESSION_MAGIC;
  s->server = m;
  s->outlet = outlet;
  s->channel = channel;
  s->principal = who.principal;
  s->mode = who.mode;
  s->revision = mcp_revision_unstated();
  s->log_level = SESSION_LOG_UNSET;
  s->capabilities = s->profile = s->forwarded = STR("{}");
  rand_id(m->loop->rand, s->id);
  arena_init(&s->arena);
  s->principal_name = arena_str(&s->arena, who.name);
  s->agent = arena_str(&s->arena, who.agent);
  if (who.subject.n) s->subject = arena_str(&s->arena, who.subject);
  if (who.issuer.n) s->issuer = arena_str(&s->arena, who.issuer);
  if (who.claims.p) s->claims = arena_str(&s->arena, who.claims);
  if (who.workload.p) s->workload = arena_str(&s->arena, who.workload);
  s->until = who.until;
  s->as_operator = who.as_operator;
  set_mark(s, str_of(s->id));
  s->since = clock_wall_ms(m->loop->clock);
  list_init(&s->requests);
  list_init(&s->idle);
  rpc_pending_init(&s->asks, m->loop);
  list_push(&m->sessions, &s->node);
  s->share = shares_take(&m->shares, payer_of(who));
  list_push(&s->share->members, &s->by_use);
  s->account = intake_join(&m->intake, payer_of(who));
  return s;
}

void session_close(struct session **session) {
  struct session *s = *session;
  if (!s) return;
  ASSERT_MAGIC(s, SESSION_MAGIC);
  struct mcp_server *m = s->server;
  log_debug(m->loop->log, "session %.8s: closed", s->id);
  s->closing = true;
  if (s->callers) callers_forget(s->callers, s);
  while (!list_empty(&s->requests))
    request_cancel(CONTAINER_OF(s->requests.next, struct request, node), STR("the client is gone"));
  struct fault f;
  fault_set(&f, FAULT_CANCELLED, "the client is gone");
  rpc_pending_fail(&s->asks, &f);
  ASSERT(!s->in_flight && !s->held);
  m->surface->closed(m->surface_ctx, s);
  run_context_unref(&s->run);
  rpc_pending_done(&s->asks);
  arena_done(&s->arena);
  list_remove(&s->node);
  list_remove(&s->idle);
  list_remove(&s->by_use);
  shares_drop(&m->shares, &s->share);
  intake_set(&m->intake, s->account, &s->kept, 0);
  intake_leave(&m->intake, &s->account);
  s->magic = 0;
  mem_free(s);
  *session = NULL;
}

str session_agent(const struct session *s) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  return s->principal < 0 && !s->as_operator ? s->server->agent : s->agent;
}

bool session_belongs(const struct session *s, struct client_identity who) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  return s->principal == who.principal && str_eq(s->claims, who.claims);
}

str session_principal(const struct session *s) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  str local = s->server->local.n ? s->server->local : STR("local");
  return (s->principal < 0 && !s->as_operator) || !s->principal_name.n ? local : s->principal_name;
}

bool session_askable(const struct session *s) {
  bool gets_logs = s->revision->stateless && s->log_level != SESSION_LOG_UNSET;
  return s->can_sample || s->can_elicit || s->can_list_roots || s->has_tasks || gets_logs;
}

void session_send(struct session *s, struct request *related, str message) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  ASSERT(!related || related->session == s);
  s->outlet->send(s, related, message);
}

void session_notify(struct session *s, struct request *related, str method, str params) {
  struct buf *b = &s->server->scratch;
  buf_reset(b);
  rpc_put_notification(b, method, params);
  if (b->over)
    log_warn(s->server->loop->log, "%.*s was not sent to the client: the message is larger than limits.message",
             STR_ARG(method));
  else session_send(s, related, buf_view(b));
}

// ---- the handshake

static bool has(const struct json *capabilities, str name) {
  return json_is(json_get(capabilities, name), JSON_OBJECT);
}

// Reads Toolgate's own member of capabilities.experimental. Returns the capabilities without this member, to send to
// servers.
static const struct json *take_ours(struct session *s, const struct json *capabilities) {
  const struct json *experimental = json_get(capabilities, STR("experimental"));
  struct fault f;
  if (!json_get(experimental, CLIENT_STRUCTURED)) return capabilities;
  s->asks_structured = client_experiment_asks(experimental);
  struct json_edit ours = {CLIENT_STRUCTURED, STR_NONE};
  struct json_edit edit = {STR("experimental"), STR_NONE};
  if (experimental->count > 1) edit.raw = json_edited(&s->arena, experimental, &ours, 1);
  const struct json *rest =
      json_parse(&s->arena, json_edited(&s->arena, capabilities, &edit, 1), &s->server->limits, &f);
  return rest ? rest : capabilities;
}

// Counts the memory of the client information and capabilities, which a session stores in several forms. Returns false
// if a limit is exceeded.
static bool keep_client(struct session *s, const struct json *capabilities, const struct json *client) {
  enum { FORMS = 4 };
  struct intake *in = &s->server->intake;
  size_t bytes = FORMS * ((capabilities ? capabilities->n : 0) + (size_t)(client ? client->n : 0));
  if (bytes <= KEPT_FREELY) return true;
  intake_set(in, s->account, &s->kept, bytes);
  if (s->callers || intake_check(in, s->account, INTAKE_SMALL + bytes) == INTAKE_ROOM) return true;
  intake_set(in, s->account, &s->kept, 0);
  return false;
}

void session_take_client(struct session *s, const struct json *capabilities, const struct json *client) {
  str name;
  if (s->callers) keep_client(s, capabilities, client);
  // Keeps the client information, because every request to a stateless server contains it.
  if (json_is(client, JSON_OBJECT) && client->n <= MAX_CAPABILITIES)
    s->client = arena_str(&s->arena, json_span(client));
  if (json_string(json_get(client, STR("name")), &s->arena, &name)) s->known = client_find(name);
  if (!json_is(capabilities, JSON_OBJECT)) return;
  capabilities = take_ours(s, capabilities);
  s->capabilities = s->profile = arena_str(&s->arena, json_span(capabilities));
  struct buf canonical;
  struct fault f;
  buf_init(&canonical, 1 << 20);
  if (json_canon(&canonical, capabilities, JSON_CANON_JCS, &f)) s->profile = arena_str(&s->arena, buf_view(&canonical));
  buf_done(&canonical);
  // Removes the capability `tasks`: stateless servers have tasks as an extension instead, and call/bridge translates.
  buf_init(&canonical, (size_t)capabilities->n + 1);
  json_copy_edited(&canonical, capabilities, &(struct json_edit){STR("tasks"), STR_NONE}, 1);
  s->forwarded = arena_str(&s->arena, buf_view(&canonical));
  buf_done(&canonical);
  s->can_sample = has(capabilities, STR("sampling"));
  s->can_elicit = has(capabilities, STR("elicitation"));
  s->can_list_roots = has(capabilities, STR("roots"));
  s->has_tasks = has(capabilities, STR("tasks")) && s->revision->tasks;
}

static const char *const levels[] = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

int session_log_level(const struct json *v) {
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    if (json_equals_str(v, str_of(levels[i]))) return (int)i;
  return SESSION_LOG_UNSET;
}

const char *session_log_name(int level) {
  ASSERT(level >= 0 && (size_t)level < sizeof levels / sizeof *levels);
  return levels[level];
}

// Answers initialize or server/discover. `members` are the first members of the result, in raw JSON.
static void describe(struct session *s, struct request *r, const char *members) {
  struct buf result;
  buf_init(&result, 1 << 20);
  struct json_writer w = json_writer(&result);
  json_begin_object(&w);
  buf_str(&result, str_of(members));
  w.comma = true;
  s->server->surface->describe(s->server->surface_ctx, s, &w);
  if (!s->revision->stateless) {
    json_put_key(&w, STR("serverInfo"));
    json_put_raw(&w, META_TOOLGATE);
  }
  json_end_object(&w);
  request_reply(r, buf_view(&result));
  buf_done(&result);
}

// Reports to the server's callbacks (surface_ops) that the session refuses a request.
static void note_refusal(struct request *r) {
  const struct mcp_server *m = r->session->server;
  if (m->surface->refused) m->surface->refused(m->surface_ctx, r);
}

static void refuse_crowd(struct request *r, int status, const char *what, const char *limit) {
  char why[160];
  snprintf(why, sizeof why, "%s (%s); wait for answers, then try again", what, limit);
  if (r->session->revision->stateless) r->status = status;
  note_refusal(r);
  request_fail(r, RPC_INTERNAL_ERROR, why, STR_NONE);
}

static void initialize(struct session *s, struct request *r) {
  str version;
  if (s->state != SESSION_NEW) {
    request_fail(r, RPC_INVALID_REQUEST, "the session is already initialized", STR_NONE);
    return;
  }
  if (!json_string(json_get(r->msg.params, STR("protocolVersion")), &r->arena, &version)) {
    request_fail(r, RPC_INVALID_PARAMS, "params.protocolVersion must be a string", STR_NONE);
    return;
  }
  const struct json *capabilities = json_get(r->msg.params, STR("capabilities"));
  if (capabilities && capabilities->n > MAX_CAPABILITIES) {
    request_fail(r, RPC_INVALID_PARAMS, "params.capabilities is larger than 64 KiB", STR_NONE);
    return;
  }
  const struct json *client = json_get(r->msg.params, STR("clientInfo"));
  if (!keep_client(s, capabilities, client)) {
    refuse_crowd(r, 429, "the sessions of this principal use too much memory", "limits.principal_held_bytes");
    return;
  }
  s->revision = mcp_revision_negotiate(version);
  session_take_client(s, capabilities, client);
  s->state = SESSION_INITIALIZED;
  log_debug(s->server->loop->log, "session %.8s: opened, MCP %s%s", s->id, s->revision->name,
            session_askable(s) ? ", client accepts messages of servers" : "");
  s->server->surface->attached(s->server->surface_ctx, s);
  char members[64];
  snprintf(members, sizeof members, "\"protocolVersion\":\"%s\"", s->revision->name);
  describe(s, r, members);
}

// ---- dispatch

struct request *session_find_request(struct session *s, const struct json *id) {
  LIST_EACH(it, &s->requests) {
    struct request *r = CONTAINER_OF(it, struct request, node);
    if (rpc_same_id(r->msg.id, id)) return r;
  }
  return NULL;
}

static void on_cancelled(struct session *s, const struct rpc_message *m, struct arena *a) {
  struct request *r = session_find_request(s, json_get(m->params, STR("requestId")));
  // An unknown id is no error: the request may have been answered before the cancellation arrived. initialize cannot be
  // cancelled.
  if (!r || str_eq(r->msg.method, STR("initialize"))) return;
  str reason = STR("the client cancelled the request");
  json_string(json_get(m->params, STR("reason")), a, &reason);
  request_cancel(r, reason);
}

void session_message_received(struct session *s, const struct rpc_message *m, const struct json *value, bool taken) {
  const struct mcp_server *server = s->server;
  if (server->surface->received) server->surface->received(server->surface_ctx, s, m, value, taken);
}

void session_text_received(struct session *s, str text) {
  const struct json nothing = {.type = JSON_NULL, .n = (uint32_t)text.n};
  session_message_received(s, NULL, &nothing, false);
}

static void on_notification(struct session *s, struct request *r) {
  struct mcp_server *server = s->server;
  const struct rpc_message *m = &r->msg;
  bool taken = method_may_notify(m->method, true, s->revision);
  session_message_received(s, m, r->value, taken);
  if (!taken) return;
  if (str_eq(m->method, STR("notifications/cancelled"))) {
    on_cancelled(s, m, &r->arena);
  } else if (str_eq(m->method, STR("notifications/initialized"))) {
    if (s->state != SESSION_INITIALIZED) return;
    s->state = SESSION_OPEN;
    server->surface->opened(server->surface_ctx, s);
  } else if (str_eq(m->method, STR("notifications/progress"))) {
    rpc_pending_progress(&s->asks, m);
  } else {
    server->surface->notification(server->surface_ctx, s, m);
  }
}

// Returns false, after refusing `r`, if a limit is exceeded. If `r` is the session's only request, the limits of the
// session do not apply.
static bool has_room(struct session *s, struct request *r) {
  // A shared session serves many HTTP clients; the limit on connections already limits the number of their requests.
  bool unlimited = s->callers && s->lent == LENT_SHARED && !s->callers->opt.one_client;
  bool many = s->in_flight > s->server->max_in_flight;
  if (!unlimited && (many || s->held - r->holds > s->server->max_held)) {
    refuse_crowd(r, 429,
                 many ? "too many requests of this session are in flight"
                      : "the requests of this session use too much memory",
                 many ? "limits.in_flight" : "limits.session_held_bytes");
    return false;
  }
  enum intake_room room = intake_check(&s->server->intake, s->account, r->holds);
  if (room == INTAKE_ROOM) return true;
  refuse_crowd(r, room == INTAKE_FULL ? 503 : 429, "the requests in flight use too much memory",
               intake_limit_name(room));
  return false;
}

static void on_request(struct session *s, struct request *r) {
  if (str_eq(r->msg.method, STR("initialize"))) {
    initialize(s, r);
  } else if (str_eq(r->msg.method, STR("ping"))) {
    request_reply(r, STR("{}"));
  } else if (s->state == SESSION_NEW) {
    note_refusal(r);
    request_fail(r, RPC_INVALID_REQUEST, "the first request of a session must be initialize", STR_NONE);
  } else if (has_room(s, r)) {
    // Clients that do not send notifications/initialized are also served.
    if (s->state == SESSION_INITIALIZED) {
      s->state = SESSION_OPEN;
      s->server->surface->opened(s->server->surface_ctx, s);
    }
    s->server->surface->request(s->server->surface_ctx, r);
  }
}

void session_serve(struct session *s, struct request *r, void *channel) {
  request_begin(r, s, channel);
  if (str_eq(r->msg.method, STR("initialize")) ||
      str_eq(r->msg.method, STR("ping"))) {  // the stateless revision does not have these methods
    note_refusal(r);
    request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
  } else if (str_eq(r->msg.method, STR("server/discover"))) {
    char members[128];
    snprintf(members, sizeof members, "\"supportedVersions\":[\"%s\"],\"ttlMs\":0,\"cacheScope\":\"private\"",
             mcp_revision_stateless()->name);
    describe(s, r, members);
  } else if (has_room(s, r)) {
    s->server->surface->request(s->server->surface_ctx, r);
  }
}

void session_park(struct session *s) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  s->parked++;
}

void session_unpark(struct session *s) {
  ASSERT(s->parked > 0);
  s->parked--;
  if (s->callers) callers_return(s->callers, s);
}

bool session_receive(struct session *s, struct request *r, void *channel, struct rpc_error *err) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  struct mcp_server *m = s->server;
  bool understood = rpc_read(r->value, &r->arena, &r->msg, err);
  if (understood && r->msg.kind == RPC_REQUEST) {
    s->used |= s->state != SESSION_NEW;
    request_begin(r, s, channel);
    on_request(s, r);
    return true;
  }
  if (!understood) {
    session_message_received(s, NULL, r->value, false);
    rpc_pending_malformed(&s->asks, r->value, err->message);
  } else if (r->msg.kind == RPC_NOTIFICATION) on_notification(s, r);
  else if (!rpc_pending_reply(&s->asks, &r->msg))
    log_debug(m->loop->log, "the client sent a reply that matches no open request");
  request_discard(m, r);
  return understood;
}
