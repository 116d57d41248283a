// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
#include "mcp/meta.h"
#include "surface/direct_impl.h"

struct client *direct_client(const struct session *s) {
  return s->surface;
}

uint64_t direct_wait_until(void *direct, const struct session *s) {
  const struct direct *d = direct;
  uint64_t opened = direct_client(s)->opened_at;
  return (opened > d->began ? opened : d->began) + d->opt.start_wait_ms;
}

// ---- methods

// clang-format off
static const struct call_method forwarded[] = {
    {"tools/call", CALL_BY_NAME, ITEM_TOOL, CALL_ANY_ERA, false},
    {"prompts/get", CALL_BY_NAME, ITEM_PROMPT, CALL_ANY_ERA, false},
    {"resources/read", CALL_BY_URI, ITEM_RESOURCE, CALL_ANY_ERA, false},
    {"resources/subscribe", CALL_BY_URI, ITEM_RESOURCE, CALL_WITH_SESSION, true},
    {"completion/complete", CALL_BY_REF, ITEM_PROMPT, CALL_ANY_ERA, false},
    {"tasks/get", CALL_BY_TASK, ITEM_TOOL, CALL_ANY_ERA, false},
    {"tasks/result", CALL_BY_TASK, ITEM_TOOL, CALL_WITH_SESSION, false},
    {"tasks/cancel", CALL_BY_TASK, ITEM_TOOL, CALL_ANY_ERA, false},
    {"tasks/update", CALL_BY_TASK, ITEM_TOOL, CALL_STATELESS, false},
};
// clang-format on

// Whatever else there may be goes to the one upstream there is; with several, nobody can say to which.
static const struct call_method unknown = {"", CALL_BY_ONLY, ITEM_TOOL, CALL_ANY_ERA, false};

// Not one of the protocol's own methods: those that are not served here are refused, not passed by us.
static bool is_foreign(str method) {
  static const str own[] = {STR("notifications/"), STR("tasks/"),      STR("tools/"),   STR("resources/"),
                            STR("prompts/"),       STR("completion/"), STR("logging/"), STR("sampling/"),
                            STR("elicitation/"),   STR("roots/"),      STR("server/"),  STR("subscriptions/")};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (str_starts(method, own[i])) return false;
  return true;
}

static const struct call_method *find_method(str name, bool stateless) {
  for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
    const struct call_method *m = &forwarded[i];
    bool has_it = m->era == CALL_ANY_ERA || (m->era == CALL_STATELESS) == stateless;
    if (has_it && str_eq(name, str_of(m->name))) return m;
  }
  return NULL;
}

static bool find_list(str method, enum item_kind *out) {
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    if (!str_eq(method, str_of(item_kind_rules[kind].list_method))) continue;
    *out = (enum item_kind)kind;
    return true;
  }
  return false;
}

// What only one of the eras has, and what nobody has.
static void other_request(struct direct *d, struct request *r, bool stateless) {
  str method = r->msg.method;
  if (stateless && str_eq(method, STR("subscriptions/listen"))) direct_listen(d, r);
  else if (!stateless && str_eq(method, STR("resources/unsubscribe"))) direct_unsubscribe(d, r);
  else if (!stateless && str_eq(method, STR("logging/setLevel"))) direct_set_level(d, r);
  else if (upstreams_count(d->upstreams) == 1 && is_foreign(method)) call_start(&d->calls, r, &unknown);
  else request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
}

static void on_request(void *ctx, struct request *r) {
  struct direct *d = ctx;
  bool stateless = r->session->revision->stateless;
  const struct call_method *method = find_method(r->msg.method, stateless);
  enum item_kind kind;
  if (method) call_start(&d->calls, r, method);
  else if (find_list(r->msg.method, &kind)) direct_list(d, r, kind);
  else other_request(d, r, stateless);
}

// ---- the handshake

static void put_capability(struct direct *d, struct json_writer *w, const char *name, const char *value, bool all) {
  if (!all && !upstreams_capability(d->upstreams, str_of(name)).p) return;
  json_put_key(w, str_of(name));
  json_put_raw(w, str_of(value));
}

static void add_instructions(void *ctx, str server, str text) {
  struct buf *b = ctx;
  if (b->n) buf_str(b, STR("\n\n"));
  buf_printf(b, "# %.*s\n\n", STR_ARG(server));
  buf_str(b, text);
}

// Tasks are of the core or an extension, for us and for our upstreams, and bridged.
static void put_tasks(struct direct *d, const struct session *s, struct json_writer *w, bool all) {
  bool some =
      all || upstreams_capability(d->upstreams, STR("tasks")).p || upstreams_extension(d->upstreams, TASKS_EXTENSION);
  if (!some) return;
  if (s->revision->stateless) {
    json_put_key(w, STR("extensions"));
    json_put_raw(w, STR("{\"io.modelcontextprotocol/tasks\":{}}"));
  } else if (s->revision->tasks) {
    json_put_key(w, STR("tasks"));
    json_put_raw(w, STR("{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
  }
}

static void attached(void *ctx, struct session *s) {
  struct direct *d = ctx;
  struct client *client = MEM_NEW(struct client);
  client->d = d;
  client->session = s;
  client->opened_at = loop_now(d->opt.loop);
  list_init(&client->subscriptions);
  direct_listen_init(client);
  s->surface = client;
}

static void describe(void *ctx, struct session *s, struct json_writer *w) {
  struct direct *d = ctx;
  // Before every upstream has said what it has, we promise what any may have: an empty list is a legal answer.
  bool all = false;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    if (!lane || lane->state != LANE_READY) all = true;
  }
  json_put_key(w, STR("capabilities"));
  json_begin_object(w);
  put_capability(d, w, "tools", "{\"listChanged\":true}", true);
  put_capability(d, w, "resources", "{\"subscribe\":true,\"listChanged\":true}", all);
  put_capability(d, w, "prompts", "{\"listChanged\":true}", all);
  put_capability(d, w, "completions", "{}", all);
  put_capability(d, w, "logging", "{}", all);
  put_tasks(d, s, w, all);
  json_end_object(w);
  struct buf text;
  buf_init(&text, 65536);
  upstreams_each_instructions(d->upstreams, add_instructions, &text);
  if (text.n) {
    json_put_key(w, STR("instructions"));
    json_put_str(w, buf_view(&text));
  }
  buf_done(&text);
}

static void opened(void *ctx, struct session *s) {
  struct direct *d = ctx;
  upstreams_settle(d->upstreams, s);  // starts what this client needs and nobody started yet
}

static void closed(void *ctx, struct session *s) {
  struct direct *d = ctx;
  struct client *client = direct_client(s);
  calls_forget(&d->calls, s);
  if (client) {
    timer_stop(&client->listening.patience);
    direct_unsubscribe_all(client);
    mem_free(client);
    s->surface = NULL;
  }
  upstreams_forget(d->upstreams, s);
}

// ---- from the client

static void forward_to_own_lanes(struct direct *d, struct session *s, const struct rpc_message *m) {
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    bool own = lane && lane->session == s && lane->state == LANE_READY && !lane_stateless(lane);
    if (own) link_send_raw(lane->link, json_span(m->root));
  }
}

// Only what is a notification by its name: a request method without an id must not reach a server past the pipeline.
static void on_notification(void *ctx, struct session *s, const struct rpc_message *m) {
  if (s->state == SESSION_OPEN && str_starts(m->method, STR("notifications/"))) forward_to_own_lanes(ctx, s, m);
}

static void on_cancelled(void *ctx, struct request *r, str reason) {
  struct direct *d = ctx;
  enum item_kind kind;
  if (find_list(r->msg.method, &kind)) {
    direct_list_cancel(d, r);
    return;
  }
  direct_subscribe_cancelled(r->work);
  call_cancel(r->work, reason);
}

static void on_flow(void *ctx, struct session *s, bool go) {
  struct direct *d = ctx;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    if (lane && lane->session == s && lane->link) link_flow(lane->link, go);
  }
}

const struct surface_ops direct_surface = {
    .attached = attached,
    .describe = describe,
    .opened = opened,
    .closed = closed,
    .request = on_request,
    .notification = on_notification,
    .flow = on_flow,
    .cancelled = on_cancelled,
    .stopping = direct_stop_listening,
};

// ---- from the upstreams

static void on_catalog_changed(void *ctx, const bool changed[ITEM_KINDS]) {
  struct direct *d = ctx;
  const char *told[ITEM_KINDS] = {0};
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    const char *method = item_kind_rules[kind].changed;
    bool twice = kind == ITEM_TEMPLATE && told[ITEM_RESOURCE];
    if (!changed[kind] || twice) continue;
    told[kind] = method;
    LIST_EACH(it, &d->server->sessions) {
      struct session *s = CONTAINER_OF(it, struct session, node);
      struct client *client = direct_client(s);
      bool stateless = s->revision->stateless;
      if (stateless && direct_listens(client, (enum item_kind)kind)) direct_tell(client, str_of(method), STR_NONE);
      else if (!stateless && s->state == SESSION_OPEN) session_notify(s, NULL, str_of(method), STR_NONE);
    }
  }
}

static void on_lane_settled(void *ctx) {
  struct direct *d = ctx;
  direct_lists_check(d);
  direct_listens_check(d);
  calls_settled(&d->calls);
}
static void on_upstream_request(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  struct direct *d = ctx;
  calls_ask(&d->calls, lane, via, m);
}
static void on_upstream_notification(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  direct_notification(ctx, lane, via, m);
}
static void on_lane_ready(void *ctx, struct lane *lane) {
  direct_lane_ready(ctx, lane);
}

const struct upstreams_events direct_upstreams = {
    .catalog_changed = on_catalog_changed,
    .lane_settled = on_lane_settled,
    .request = on_upstream_request,
    .notification = on_upstream_notification,
    .lane_ready = on_lane_ready,
};

// ---- life

struct direct *direct_new(const struct direct_options *opt) {
  struct direct *d = MEM_NEW(struct direct);
  d->opt = *opt;
  d->began = loop_now(opt->loop);
  list_init(&d->parked);
  buf_init(&d->text, 1u << 30);
  return d;
}

void direct_join(struct direct *d, struct mcp_server *server, struct upstreams *upstreams) {
  d->server = server;
  d->upstreams = upstreams;
  call_context_init(&d->calls, upstreams, &d->opt.calls);
  d->calls.wait_until = direct_wait_until;
  d->calls.local = direct_subscribe;
  d->calls.ctx = d;
}

void direct_free(struct direct **direct) {
  struct direct *d = *direct;
  if (!d) return;
  *direct = NULL;
  ASSERT(list_empty(&d->parked));
  if (d->upstreams) call_context_done(&d->calls);
  buf_done(&d->text);
  mem_free(d);
}
