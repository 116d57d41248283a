// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
#include "call/audit_recorder.h"
#include "call/bridge/session_questions.h"
#include "mcp/meta.h"
#include "surface/changes.h"
#include "surface/direct/direct.h"
#include "surface/direct/direct_event.h"
#include "surface/direct/direct_listen.h"
#include "surface/direct/direct_watch.h"
#include "surface/index_jobs.h"
#include "surface/meta/aliases.h"
#include "surface/meta/approval_status.h"
#include "surface/meta/meta_tools.h"
#include "surface/meta/results.h"
#include "surface/servers/servers.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"
#include "surface/wait.h"

enum { SEEN_BYTES = 1 << 20, WARM_MS = 200, DETAILS_BYTES = 1024 };

const char *const mode_names[MODE_COUNT] = {"gateway", "transparent", "direct", "servers"};

// ---- sessions

static void attached(void *ctx, struct session *s) {
  struct surface *d = ctx;
  ASSERT(!s->surface);
  struct surface_client *client = MEM_NEW(struct surface_client);
  client->d = d;
  client->session = s;
  client->opened_at = loop_now(d->opt.loop);
  list_init(&client->subscriptions);
  direct_listen_init(client);
  seen_init(&client->seen, SEEN_BYTES, &d->opt.loop->seed);
  s->surface = client;
  surface_changes_attach(client);
}

static void describe(void *ctx, struct session *s, struct json_writer *w) {
  if (s->mode == MODE_DIRECT) direct_describe(ctx, s, w);
  else if (s->mode == MODE_SERVERS) servers_describe(s, w);
  else meta_describe(ctx, s, w);
}

str surface_operation(const struct surface *d, const struct request *r) {
  if (meta_is_approval_status(d, r)) return APPROVAL_STATUS;
  if (r->session->mode == MODE_DIRECT) return STR_NONE;
  return r->session->mode == MODE_SERVERS ? servers_operation(d, r) : meta_operation(r);
}

// Records the agent of the session in the audit line. In servers mode, the request may name another agent, which is
// recorded later.
static void note_caller(struct surface *d, struct request *r) {
  struct caller caller;
  struct fault f;
  if (!r->note) return;
  if (surface_caller(d, r->session, &caller, &f)) audit_recorder_agent(r, caller.id);
  else if (r->session->mode != MODE_SERVERS)
    audit_recorder_unknown(r, caller_rule(d->calls.rules, r->session, STR_NONE, &f));
}

// Handles a request after its audit line was begun. `unaudited` is NULL, or the reason why a required audit log cannot
// be written.
static void on_admitted(void *ctx, struct request *r, const struct fault *unaudited) {
  struct surface *d = ctx;
  int mode = r->session->mode;
  struct fault f;
  struct buf details;
  buf_init(&details, DETAILS_BYTES);
  if (unaudited) f = *unaudited;
  bool ready = !unaudited && calls_enter(&d->calls, r, &f, &details);
  if (ready && r->marks.n) upstreams_note_marks(d->upstreams, r->session, r->marks);
  if (ready && meta_is_approval_status(d, r)) meta_approval_status(d, r);
  else if (ready && mode == MODE_DIRECT) direct_request(d, r);
  else if (ready && mode == MODE_SERVERS) servers_request(d, r);
  else if (ready) meta_request(d, r);
  else if (surface_operation(d, r).p) meta_fail(d, r, &f, buf_view(&details));
  else surface_refuse(r, &f, buf_view(&details));
  buf_done(&details);
}

static void on_request(void *ctx, struct request *r) {
  struct surface *d = ctx;
  ASSERT(r->session->mode >= 0 && r->session->mode < MODE_COUNT);
  str operation = surface_operation(d, r), named = operation.p ? operation : r->msg.method;
  audit_recorder_open(d->opt.calls.audit_recorder, r, mode_names[r->session->mode], named);
  note_caller(d, r);
  audit_recorder_admit(d->opt.calls.audit_recorder, r, on_admitted, d);
}

// Starts the audit line of a request that is refused before it is handled. If the message is invalid, r->msg is empty;
// then the method is read from the message's JSON value.
static void on_refused(void *ctx, struct request *r) {
  struct surface *d = ctx;
  str named = r->msg.method;
  if (!named.n && !json_string(json_get(r->value, STR("method")), &r->arena, &named)) named = STR("message");
  str operation = r->msg.method.n ? surface_operation(d, r) : STR_NONE;
  audit_recorder_open(d->opt.calls.audit_recorder, r, mode_names[r->session->mode], operation.p ? operation : named);
  note_caller(d, r);
}

static void on_over(void *ctx, struct request *r, str message) {
  struct surface *d = ctx;
  calls_leave(&d->calls, r, message);
  audit_recorder_close(d->opt.calls.audit_recorder, r, message);
}

static void opened(void *ctx, struct session *s) {
  struct surface *d = ctx;
  if (s->mode == MODE_SERVERS && d->opt.lazy) return;  // each server starts when a request names it
  upstreams_settle(d->upstreams, s);                   // starts the servers that this client needs
}

static void closed(void *ctx, struct session *s) {
  struct surface *d = ctx;
  struct surface_client *client = surface_client(s);
  calls_forget(&d->calls, s);
  calls_withdraw(&d->calls, s);
  if (client) {
    timer_stop(&client->listening.patience);
    direct_unsubscribe_all(client);
    seen_done(&client->seen);
    surface_changes_detach(client);
    ASSERT(client->d == d && client->session == s && !client->subscription_count);
    mem_free(client);
    s->surface = NULL;
  }
  upstreams_forget(d->upstreams, s);
}

// ---- from the client

// Forwards a notification to the connections that only this client uses.
static void on_notification(void *ctx, struct session *s, const struct rpc_message *m) {
  struct surface *d = ctx;
  if (s->state != SESSION_OPEN) return;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    bool own = lane && lane->session == s && lane->state == LANE_READY && !lane_stateless(lane);
    if (own) link_notify(lane->link, m->method, m->params ? json_span(m->params) : STR_NONE);
  }
}

// Writes an audit line for a message that is not a request. The rate of these lines is limited for each session. The
// next line that is written gives the number of lines that were left out.
static void on_received(void *ctx, struct session *s, const struct rpc_message *m, const struct json *value,
                        bool taken) {
  enum { LINES_PER_SECOND = 20, SESSION_SHOWN = 8 };
  struct surface *d = ctx;
  unsigned omitted = 0;
  if (m && str_eq(m->method, STR("notifications/initialized"))) return;  // the audit log has no line for the handshake
  if (!d->opt.calls.audit_recorder || !rate_allow(&s->noted, loop_now(d->opt.loop), LINES_PER_SECOND, &omitted)) return;
  struct caller caller;
  struct fault f;
  bool known = surface_caller(d, s, &caller, &f);
  struct audit_event e = {
      .agent = known && caller.id.n ? caller.id
               : session_agent(s).n ? session_agent(s)
                                    : STR_NONE,
      .decision = taken ? AUDIT_ALLOW : AUDIT_DENY,
      .code = taken ? STR_NONE
              : m   ? STR("METHOD_NOT_FOUND")
                    : STR("INVALID_REQUEST"),
      .mode = str_of(mode_names[s->mode]),
      .session = s->callers ? STR_NONE : (str){s->id, SESSION_SHOWN},
      .principal = session_principal(s),
      .subject = s->subject,
      .issuer = s->issuer,
      .bytes_in = value->n,
      .omitted = omitted,
  };
  arena_reset(&d->scratch);
  if (!json_string(json_get(value, STR("method")), &d->scratch, &e.operation)) e.operation = STR("message");
  audit_recorder_add(d->opt.calls.audit_recorder, &e);
}

void surface_audit(struct surface *d, struct audit_recorder *l) {
  d->opt.calls.audit_recorder = l;
}

void surface_limit_principals(struct surface *d, const struct allowance_limits *limits) {
  calls_limit_principals(&d->calls, limits);
}

// Pauses or resumes reading on the connections that only this client uses.
static void on_flow(void *ctx, struct session *s, bool go) {
  struct surface *d = ctx;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    bool alone = lane && (lane->session == s || d->server->one_client);
    if (alone && lane->link) link_flow(lane->link, go);
  }
}

const struct surface_ops surface_for_sessions = {
    .attached = attached,
    .describe = describe,
    .opened = opened,
    .closed = closed,
    .request = on_request,
    .notification = on_notification,
    .received = on_received,
    .refused = on_refused,
    .flow = on_flow,
    .stopping = direct_stop_listening,
    .over = on_over,
};

// ---- from the upstreams

static void on_catalog_changed(void *ctx, const bool changed[ITEM_KINDS]) {
  struct surface *d = ctx;
  // Builds the directory before a request needs it. The delay WARM_MS avoids several builds when several servers start
  // together.
  if (d->directory || d->opt.mode != MODE_DIRECT) timer_start(d->opt.loop, &d->warm, WARM_MS);
  surface_catalog_changed(d);
}

static void on_warm(struct timer *t) {
  surface_directory(CONTAINER_OF(t, struct surface, warm));
}

static void on_listed(void *ctx, const struct catalog_source *sources, size_t count) {
  struct surface *d = ctx;
  struct pins *pins = d->opt.calls.rules ? d->opt.calls.rules->pins : NULL;
  if (pins) pins_look(pins, sources, count);
}

static bool compares(void *ctx) {
  const struct surface *d = ctx;
  return d->opt.calls.rules && d->opt.calls.rules->pins;
}

static void on_lane_settled(void *ctx) {
  struct surface *d = ctx;
  surface_waits_check(d);
  direct_listens_check(d);
  calls_settled(&d->calls);
}
static void on_upstream_request(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  struct surface *d = ctx;
  struct arena a;
  arena_init(&a);
  const struct rpc_message *masked = calls_scrub(&d->calls, lane, m, &a);
  if (masked) calls_ask(&d->calls, lane, via, masked);
  else link_refuse(lane->link, json_span(m->id), RPC_INTERNAL_ERROR, STR("the request cannot be searched for secrets"));
  arena_done(&a);
}
static void on_upstream_notification(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  struct surface *d = ctx;
  struct arena a;
  arena_init(&a);
  const struct rpc_message *masked = calls_scrub(&d->calls, lane, m, &a);
  if (masked) direct_notification(d, lane, via, masked);
  arena_done(&a);
}
static void on_lane_ready(void *ctx, struct lane *lane) {
  direct_lane_ready(ctx, lane);
}

static str agent_of(void *ctx, const struct session *s) {
  struct caller c;
  struct fault f;
  return surface_caller(ctx, s, &c, &f) ? c.id : STR_NONE;
}

static bool may_use(void *ctx, const struct session *s, unsigned index) {
  struct surface *d = ctx;
  struct caller c;
  struct fault f;
  return surface_caller(d, s, &c, &f) && surface_sees_server(d, &c, index);
}

const struct upstreams_events surface_for_upstreams = {
    .listed = on_listed,
    .compares = compares,
    .catalog_changed = on_catalog_changed,
    .lane_settled = on_lane_settled,
    .request = on_upstream_request,
    .notification = on_upstream_notification,
    .lane_ready = on_lane_ready,
    .agent_of = agent_of,
    .may_use = may_use,
};

// ---- life

struct surface *surface_new(const struct surface_options *opt) {
  ASSERT(opt->loop && (unsigned)opt->mode < MODE_COUNT);
  struct surface *d = MEM_NEW(struct surface);
  d->opt = *opt;
  d->began = loop_now(opt->loop);
  list_init(&d->waiting);
  list_init(&d->viewings);
  list_init(&d->index_jobs);
  list_init(&d->visibilities);
  list_init(&d->aliases);
  map_init(&d->visibility_of, &opt->loop->seed);
  buf_init(&d->answer, 1u << 30);
  arena_init(&d->scratch);
  timer_init(&d->warm, on_warm);
  surface_changes_init(d);
  buf_init(&d->text, 1u << 30);
  return d;
}

static bool may_see(const void *caller, const struct item *item, str server) {
  return caller_lists(caller, server, item->kind, item->name);
}

// Returns the names for a call, which needs the name of only one item. The visibility of the whole catalog is computed
// only if several items of the catalog compete for a name.
static struct naming names_for(void *ctx, const struct caller *c, const struct catalog *catalog) {
  if (catalog->contested) return surface_naming(ctx, c, catalog);
  struct naming n = naming_of_all(catalog);
  n.lets = may_see;
  n.who = c;
  return n;
}

static const struct call_surface for_calls = {
    .wait_until = surface_wait_until,
    .local = direct_subscribe,
    .local_over = direct_subscribe_over,
    .used = meta_used,
    .names = names_for,
    .id_of = surface_tool_id,
    .safe_of = surface_tool_safe,
};

void surface_join(struct surface *d, struct mcp_server *server, struct upstreams *upstreams) {
  ASSERT(!d->server && !d->upstreams && server && upstreams);
  d->server = server;
  d->upstreams = upstreams;
  call_context_init(&d->calls, upstreams, &d->opt.calls);
  d->calls.surface = &for_calls;
  d->calls.ctx = d;
  d->calls.store = d->opt.store;
}

void surface_free(struct surface **surface) {
  struct surface *d = *surface;
  if (!d) return;
  *surface = NULL;
  ASSERT(list_empty(&d->waiting));
  meta_views_forget(d);
  index_jobs_detach(d);
  if (d->upstreams) call_context_done(&d->calls);
  timer_stop(&d->warm);
  timer_stop(&d->changes);
  buf_done(&d->text);
  buf_done(&d->answer);
  arena_done(&d->scratch);
  surface_forget_visibilities(d);
  meta_aliases_forget(d);
  ASSERT(!d->visibility_bytes && list_empty(&d->visibilities) && list_empty(&d->viewings));
  map_done(&d->visibility_of);
  directory_unref(&d->directory);
  mem_free(d);
}
