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
  SESSION_MAGIC = 0x73657373,
  REQUEST_MAGIC = 0x72657175,
  KEEP_REQUESTS = 256,
  KEEP_SCRATCH = 1 << 20,
  MAX_CAPABILITIES = 65536,
  KEPT_FREELY = 16384,  // bytes of client information that are not counted
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
  // A message can grow on its way by ids, tokens and names, never by much.
  buf_init(&m->scratch, limits->max_message + 65536);
  m->limits = m->request_limits =
      (struct json_limits){.max_bytes = limits->max_message, .max_depth = json_default_limits.max_depth};
  m->request_limits.max_values = limits->max_values;
}

void mcp_server_done(struct mcp_server *m) {
  ASSERT(list_empty(&m->sessions));
  shares_done(&m->shares);
  intake_done(&m->intake);
  for (struct list *n; (n = list_pop(&m->free_requests));) {
    struct request *r = CONTAINER_OF(n, struct request, node);
    arena_done(&r->arena);
    mem_free(r);
  }
  buf_done(&m->scratch);
}

// ---- sessions

// Whose share a session counts in; empty: nobody's in particular.
static str payer_of(struct client_identity who) {
  return who.principal < 0 ? STR_NONE : who.name;
}

static bool let_go(struct session *s) {
  if (s->callers) return callers_let_go(s->callers, s);
  return s->outlet->let_go && s->outlet->let_go(s);
}

// Ends the session of this share that is not in use, and was used longest ago.
static bool let_one_go(struct share *share, bool if_never_used) {
  LIST_EACH(it, &share->members) {
    struct session *s = CONTAINER_OF(it, struct session, by_use);
    if ((!if_never_used || s->callers || !s->used) && let_go(s)) return true;
  }
  return false;
}

enum session_room sessions_make_room(struct mcp_server *m, struct client_identity who) {
  str payer = payer_of(who);
  struct share *own = shares_find(&m->shares, payer);
  bool few = !own || !payer.n || !m->principal_sessions || own->count < m->principal_sessions;
  if (few && shares_allow(&m->shares, payer, 0)) return SESSION_ROOM;
  if (!own) return SESSION_ROOM_NONE;
  // Clients without a credential cannot be told apart: first go those sessions that no client came back to.
  if ((!payer.n && let_one_go(own, true)) || let_one_go(own, false)) return SESSION_ROOM;
  return payer.n ? SESSION_ROOM_SHARE : SESSION_ROOM_NONE;
}

void session_used(struct session *s) {
  list_remove(&s->by_use);
  list_push(&s->share->members, &s->by_use);
}

// The key is this process's. Nine digits are three tokens.
static void set_mark(struct session *s, str whose) {
  enum { MARKS = 1000000000 };
  if (s->as_operator) snprintf(s->mark, sizeof s->mark, "…");
  else snprintf(s->mark, sizeof s->mark, "[tg%09u]", (unsigned)(hash_sip(&s->server->loop->seed, whose) % MARKS));
}

void session_share_mark(struct session *s) {
  set_mark(s,
           arena_printf(&s->arena, "mark of %.*s as %.*s", STR_ARG(session_principal(s)), STR_ARG(session_agent(s))));
}

struct session *session_new(struct mcp_server *m, const struct outlet_ops *outlet, void *channel,
                            struct client_identity who) {
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
  m->surface->closed(m->surface_ctx, s);
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
  return s->principal < 0 && !s->as_operator ? s->server->agent : s->agent;
}

str session_principal(const struct session *s) {
  str local = s->server->local.n ? s->server->local : STR("local");
  return (s->principal < 0 && !s->as_operator) || !s->principal_name.n ? local : s->principal_name;
}

bool session_askable(const struct session *s) {
  bool told = s->revision->stateless && s->log_level != SESSION_LOG_UNSET;
  return s->can_sample || s->can_elicit || s->can_list_roots || s->has_tasks || told;
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
  if (b->over) log_warn(s->server->loop->log, "a %.*s over limits.message was not sent", STR_ARG(method));
  else session_send(s, related, buf_view(b));
}

// ---- requests

static struct request *request_new(struct mcp_server *m) {
  struct list *kept = list_pop(&m->free_requests);
  struct request *r;
  if (kept) {
    r = CONTAINER_OF(kept, struct request, node);
    m->free_count--;
  } else {
    r = MEM_NEW(struct request);
    arena_init(&r->arena);
  }
  r->magic = REQUEST_MAGIC;
  list_init(&r->node);
  return r;
}

void request_discard(struct mcp_server *m, struct request *r) {
  list_remove(&r->node);
  if (m->free_count >= KEEP_REQUESTS) {
    arena_done(&r->arena);
    mem_free(r);
    return;
  }
  arena_reset(&r->arena);
  struct arena kept = r->arena;
  *r = (struct request){.arena = kept};
  list_push(&m->free_requests, &r->node);
  m->free_count++;
}

struct request *request_parse(struct mcp_server *m, str text, struct fault *f) {
  struct request *r = request_new(m);
  r->value = json_parse(&r->arena, arena_str(&r->arena, text), &m->request_limits, f);
  if (r->value) return r;
  request_discard(m, r);
  return NULL;
}

static void hold(struct request *r, size_t bytes) {
  struct session *s = r->session;
  s->held = s->held - r->holds + bytes;
  intake_set(&s->server->intake, s->account, &r->holds, bytes);
}

void request_holds(struct request *r, size_t besides) {
  hold(r, r->arena.total + besides);
}

// `memory`: that the message is in, and that nobody needs any more; or NULL.
static void finish(struct request *r, str message, struct buf *memory) {
  ASSERT_MAGIC(r, REQUEST_MAGIC);
  struct session *s = r->session;
  struct mcp_server *m = s->server;
  struct callers *lender = s->callers;
  list_remove(&r->node);
  s->in_flight--;
  hold(r, 0);
  session_used(s);
  if (r->note || r->accounting) m->surface->over(m->surface_ctx, r, message);
  // Answering may let the client's next bytes in, and they may end its session, which is not touched afterwards. One
  // that was lent is still taken then.
  s->outlet->answer(r, (struct payload){message, memory});
  request_discard(m, r);
  if (lender) callers_return(lender, s);
}

static struct buf *scratch(struct request *r) {
  struct buf *b = &r->session->server->scratch;
  buf_reset(b);
  buf_trim(b, KEEP_SCRATCH);
  return b;
}

static void finish_whole(struct request *r, struct buf *b) {
  if (b->over) {
    buf_reset(b);
    rpc_put_error(b, r->id, r->code = RPC_INTERNAL_ERROR, STR("the answer is larger than limits.message"), STR_NONE);
  }
  finish(r, buf_view(b), b);
}

#define SERVER_META "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"
#define OWN_META "{\"_meta\":{"

void request_reply(struct request *r, str result) {
  struct buf *b = scratch(r);
  if (r->session->revision->stateless) {
    bool has_meta = str_starts(result, STR(OWN_META));
    rpc_put_result(b, r->id, STR("{\"resultType\":\"complete\","));
    b->n--;  // the end of the message: the result goes on
    buf_str(b, STR(SERVER_META));
    buf_str(b, META_TOOLGATE);
    if (has_meta) buf_char(b, ',');
    else buf_str(b, result.n > 2 ? STR("},") : STR("}"));
    buf_str(b, str_from(result, has_meta ? sizeof OWN_META - 1 : 1));
    buf_char(b, '}');
  } else {
    rpc_put_result(b, r->id, result);
  }
  finish_whole(r, b);
}

void request_reply_whole(struct request *r, str result) {
  struct buf *b = scratch(r);
  rpc_put_result(b, r->id, result);
  finish_whole(r, b);
}

// What HTTP says of an error that a stateless client gets as a plain answer.
static int status_of(const struct request *r, int64_t code) {
  if (!r->session->revision->stateless) return 0;
  switch (code) {
  case RPC_METHOD_NOT_FOUND: return 404;
  case RPC_HEADER_MISMATCH:
  case RPC_MISSING_CAPABILITY:
  case RPC_UNSUPPORTED_VERSION: return 400;
  default: return 0;
  }
}

void request_send(struct request *r, struct buf *message, int code) {
  r->code = code;
  r->status = status_of(r, code);
  finish(r, buf_view(message), message);
}

void request_reply_as(struct request *r, const struct rpc_message *reply) {
  struct buf *b = scratch(r);
  int64_t code = 0;
  str renamed;
  if (reply->kind == RPC_ERROR && json_int(json_get(reply->error, STR("code")), &code)) r->status = status_of(r, code);
  if (reply->kind == RPC_ERROR) r->code = RPC_INTERNAL_ERROR;  // whatever its server calls it
  if (reply->large_message && large_message_rename(reply->large_message, r->id, &renamed)) {
    finish(r, renamed, &reply->large_message->memory);
    return;
  }
  rpc_put_reply_as(b, reply, r->id);
  if (reply->large_message) large_message_empty(reply->large_message);
  finish_whole(r, b);
}

void request_fail(struct request *r, int code, const char *message, str data) {
  struct buf *b = scratch(r);
  rpc_put_error(b, r->id, code, str_of(message), data);
  r->code = code;
  if (!r->status) r->status = status_of(r, code);
  finish(r, buf_view(b), NULL);
}

void request_cancel(struct request *r, str reason) {
  ASSERT_MAGIC(r, REQUEST_MAGIC);
  struct work *w = r->work;
  r->work = NULL;
  if (w) w->ops->cancel(w, r, reason);
  finish(r, STR_NONE, NULL);
}

void request_suspend(struct request *r) {
  const struct outlet_ops *outlet = r->session->outlet;
  if (outlet->suspend) outlet->suspend(r);
}

bool request_knows(const struct request *r, str extension) {
  const struct json *meta = json_get(r->msg.params, STR("_meta"));
  return json_is(json_get(json_get(json_get(meta, META_CAPABILITIES), STR("extensions")), extension), JSON_OBJECT);
}

const struct json *request_progress_token(const struct request *r) {
  return json_get(json_get(r->msg.params, STR("_meta")), STR("progressToken"));
}

// ---- the handshake

static bool has(const struct json *capabilities, str name) {
  return json_is(json_get(capabilities, name), JSON_OBJECT);
}

// Takes the member of experimental that is for Toolgate; servers do not get it.
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

// Counts client information, which a session keeps in several forms until it ends. Returns false if it does not fit.
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
  // It is kept, and told to stateless servers with every request.
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
  // Tasks have become an extension, and are bridged where they are asked for.
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
  ASSERT(level >= 0);
  return levels[level];
}

// The answer to initialize or server/discover.
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

static void discover(struct session *s, struct request *r) {
  char members[128];
  snprintf(members, sizeof members, "\"supportedVersions\":[\"%s\"],\"ttlMs\":0,\"cacheScope\":\"private\"",
           mcp_revision_stateless()->name);
  describe(s, r, members);
}

// Before the request is answered with an error that the surface does not see.
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
    request_fail(r, RPC_INVALID_REQUEST, "the session is initialized already", STR_NONE);
    return;
  }
  if (!json_string(json_get(r->msg.params, STR("protocolVersion")), &r->arena, &version)) {
    request_fail(r, RPC_INVALID_PARAMS, "initialize needs params.protocolVersion, a string", STR_NONE);
    return;
  }
  const struct json *capabilities = json_get(r->msg.params, STR("capabilities"));
  if (capabilities && capabilities->n > MAX_CAPABILITIES) {
    request_fail(r, RPC_INVALID_PARAMS, "params.capabilities is larger than 64 KiB", STR_NONE);
    return;
  }
  const struct json *client = json_get(r->msg.params, STR("clientInfo"));
  if (!keep_client(s, capabilities, client)) {
    refuse_crowd(r, 429, "sessions hold too much memory", "limits.principal_held_bytes");
    return;
  }
  s->revision = mcp_revision_negotiate(version);
  session_take_client(s, capabilities, client);
  s->state = SESSION_INITIALIZED;
  log_debug(s->server->loop->log, "session %.8s: opened, MCP %s%s", s->id, s->revision->name,
            session_askable(s) ? ", can be asked" : "");
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
  // Unknown ids are normal: the answer and the cancellation crossed. initialize is never cancelled.
  if (!r || str_eq(r->msg.method, STR("initialize"))) return;
  str reason = STR("the client cancelled the request");
  json_string(json_get(m->params, STR("reason")), a, &reason);
  request_cancel(r, reason);
}

void session_heard(struct session *s, const struct rpc_message *m, const struct json *value, bool taken) {
  const struct mcp_server *server = s->server;
  if (server->surface->heard) server->surface->heard(server->surface_ctx, s, m, value, taken);
}

void session_heard_unread(struct session *s, str text) {
  const struct json nothing = {.type = JSON_NULL, .n = (uint32_t)text.n};
  session_heard(s, NULL, &nothing, false);
}

static void on_notification(struct session *s, struct request *r) {
  struct mcp_server *server = s->server;
  const struct rpc_message *m = &r->msg;
  bool taken = method_may_notify(m->method, true, s->revision);
  session_heard(s, m, r->value, taken);
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

// Returns whether `r` fits the limits of its session. A request that is the only one always fits.
static bool has_place(const struct session *s, const struct request *r) {
  // The number of requests of stateless clients is limited by their connections.
  bool many = s->callers && s->lent == LENT_SHARED && !s->callers->opt.one_client;
  return many || (s->in_flight <= s->server->max_in_flight && s->held - r->holds <= s->server->max_held);
}

// Returns false after answering `r` with the limit that it exceeds.
static bool has_room(struct session *s, struct request *r) {
  if (!has_place(s, r)) {
    bool many = s->in_flight > s->server->max_in_flight;
    refuse_crowd(r, 429, many ? "too many requests of this session are under way" : "too many bytes of requests",
                 many ? "limits.in_flight" : "limits.session_held_bytes");
    return false;
  }
  enum intake_room room = intake_check(&s->server->intake, s->account, r->holds);
  if (room == INTAKE_ROOM) return true;
  refuse_crowd(r, room == INTAKE_FULL ? 503 : 429, "the requests under way hold too much memory",
               intake_limit_name(room));
  return false;
}

static void on_stateless_request(struct session *s, struct request *r) {
  // The methods of the handshake are unknown here, like any other that nobody has.
  bool gone = str_eq(r->msg.method, STR("initialize")) || str_eq(r->msg.method, STR("ping"));
  if (gone) note_refusal(r);
  if (gone) request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
  else if (str_eq(r->msg.method, STR("server/discover"))) discover(s, r);
  else if (has_room(s, r)) s->server->surface->request(s->server->surface_ctx, r);
}

static void on_request(struct session *s, struct request *r) {
  if (str_eq(r->msg.method, STR("initialize"))) {
    initialize(s, r);
  } else if (str_eq(r->msg.method, STR("ping"))) {
    request_reply(r, STR("{}"));
  } else if (s->state == SESSION_NEW) {
    note_refusal(r);
    request_fail(r, RPC_INVALID_REQUEST, "the first request of a session is initialize", STR_NONE);
  } else if (has_room(s, r)) {
    // Clients that forget notifications/initialized are served all the same.
    if (s->state == SESSION_INITIALIZED) {
      s->state = SESSION_OPEN;
      s->server->surface->opened(s->server->surface_ctx, s);
    }
    s->server->surface->request(s->server->surface_ctx, r);
  }
}

static void begin(struct session *s, struct request *r, void *channel) {
  ASSERT_MAGIC(s, SESSION_MAGIC);
  r->session = s;
  r->id = json_span(r->msg.id);
  r->channel = channel;
  list_push(&s->requests, &r->node);
  s->in_flight++;
  hold(r, r->arena.total);
}

void session_serve(struct session *s, struct request *r, void *channel) {
  begin(s, r, channel);
  on_stateless_request(s, r);
}

void session_park(struct session *s) {
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
    begin(s, r, channel);
    on_request(s, r);
    return true;
  }
  if (!understood) {
    session_heard(s, NULL, r->value, false);
    rpc_pending_malformed(&s->asks, r->value, err->message);
  } else if (r->msg.kind == RPC_NOTIFICATION) on_notification(s, r);
  else if (!rpc_pending_reply(&s->asks, &r->msg)) log_debug(m->loop->log, "client sent a reply that nobody waits for");
  request_discard(m, r);
  return understood;
}
