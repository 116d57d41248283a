// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"
#include "base/mem.h"
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
    {"tools/call", CALL_BY_NAME, ITEM_TOOL},
    {"prompts/get", CALL_BY_NAME, ITEM_PROMPT},
    {"resources/read", CALL_BY_URI, ITEM_RESOURCE},
    {"completion/complete", CALL_BY_REF, ITEM_PROMPT},
    {"tasks/get", CALL_BY_TASK, ITEM_TOOL},
    {"tasks/result", CALL_BY_TASK, ITEM_TOOL},
    {"tasks/cancel", CALL_BY_TASK, ITEM_TOOL},
};
// clang-format on

// Whatever else there may be goes to the one upstream there is; with several, nobody can say to which.
static const struct call_method unknown = {"", CALL_BY_ONLY, ITEM_TOOL};

// Not one of the protocol's own methods: those that are not served here are refused, not passed by us.
static bool is_foreign(str method) {
  static const str own[] = {STR("notifications/"), STR("tasks/"),      STR("tools/"),   STR("resources/"),
                            STR("prompts/"),       STR("completion/"), STR("logging/"), STR("sampling/"),
                            STR("elicitation/"),   STR("roots/"),      STR("server/"),  STR("subscriptions/")};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (str_starts(method, own[i])) return false;
  return true;
}

static void on_request(void *ctx, struct request *r) {
  struct direct *d = ctx;
  str method = r->msg.method;
  for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
    if (str_eq(method, str_of(forwarded[i].name))) {
      call_start(&d->calls, r, &forwarded[i]);
      return;
    }
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    if (str_eq(method, str_of(item_kind_rules[kind].list_method))) {
      direct_list(d, r, (enum item_kind)kind);
      return;
    }
  if (str_eq(method, STR("resources/subscribe"))) direct_subscribe(d, r, true);
  else if (str_eq(method, STR("resources/unsubscribe"))) direct_subscribe(d, r, false);
  else if (str_eq(method, STR("logging/setLevel"))) direct_set_level(d, r);
  else if (upstreams_count(d->upstreams) == 1 && is_foreign(method)) call_start(&d->calls, r, &unknown);
  else request_fail(r, RPC_METHOD_NOT_FOUND, "Method not found", STR_NONE);
}

// ---- tasks: where each was made

static bool find_task(void *ctx, struct session *s, str id, unsigned *out_source) {
  struct task *t = map_find(&direct_client(s)->tasks, id);
  if (t) *out_source = t->source;
  return t != NULL;
}

static void remember_task(struct client *client, unsigned source, str id) {
  enum { MAX_TASKS = 1000 };  // of one session; the oldest is forgotten
  if (map_find(&client->tasks, id)) return;
  size_t first = 0;
  if (map_count(&client->tasks) >= MAX_TASKS) {
    struct task *oldest = map_next(&client->tasks, &first);
    map_remove(&client->tasks, oldest->id);
    mem_free(oldest);
  }
  struct task *t = mem_alloc(sizeof *t + id.n);
  t->source = source;
  memcpy(t->text, id.p, id.n);
  t->id = (str){t->text, id.n};
  map_add(&client->tasks, t->id, t);
}

static void on_answered(void *ctx, struct call *c, const struct rpc_message *reply) {
  struct direct *d = ctx;
  if (reply->kind != RPC_RESULT) return;
  str id;
  const struct json *task = json_get(reply->result, STR("task"));
  if (task && json_get(c->request->msg.params, STR("task")) &&
      json_string(json_get(task, STR("taskId")), &c->request->arena, &id))
    remember_task(direct_client(c->request->session), c->routes[c->route].source, id);
  if (str_eq(c->request->msg.method, STR("resources/subscribe"))) direct_subscribed(d, c);
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
  if (s->revision->tasks) put_capability(d, w, "tasks", "{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}", all);
  json_end_object(w);
  struct buf text;
  buf_init(&text, 65536);
  upstreams_each_instructions(d->upstreams, add_instructions, &text);
  if (text.n) {
    json_put_key(w, STR("instructions"));
    json_put_str(w, buf_view(&text));
  }
  buf_done(&text);
  struct client *client = MEM_NEW(struct client);
  client->session = s;
  client->opened_at = loop_now(d->opt.loop);
  list_init(&client->subscriptions);
  map_init(&client->tasks, &d->opt.loop->seed);
  s->surface = client;
}

static void opened(void *ctx, struct session *s) {
  struct direct *d = ctx;
  upstreams_settle(d->upstreams, s);  // starts what this client needs and nobody started yet
}

static void closed(void *ctx, struct session *s) {
  struct direct *d = ctx;
  struct client *client = direct_client(s);
  if (client) {
    direct_unsubscribe_all(d, client);
    size_t at = 0;
    for (struct task *t; (t = map_next(&client->tasks, &at));) mem_free(t);
    map_done(&client->tasks);
    mem_free(client);
    s->surface = NULL;
  }
  upstreams_forget(d->upstreams, s);
}

// ---- from the client

static void forward_to_own_lanes(struct direct *d, struct session *s, const struct rpc_message *m) {
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    if (lane && lane->session == s && lane->state == LANE_READY) link_send_raw(lane->link, json_span(m->root));
  }
}

// Only what is a notification by its name: a request method without an id must not reach a server past the pipeline.
static void on_notification(void *ctx, struct session *s, const struct rpc_message *m) {
  if (s->state == SESSION_OPEN && str_starts(m->method, STR("notifications/"))) forward_to_own_lanes(ctx, s, m);
}

static void on_cancelled(void *ctx, struct request *r, str reason) {
  struct direct *d = ctx;
  bool is_list = false;
  for (int kind = 0; kind < ITEM_KINDS; kind++)
    is_list |= str_eq(r->msg.method, str_of(item_kind_rules[kind].list_method));
  if (is_list) direct_list_cancel(d, r);
  else call_cancel(r->work, reason);
}

static void on_flow(void *ctx, struct session *s, bool go) {
  struct direct *d = ctx;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    if (lane && lane->session == s && lane->link) link_flow(lane->link, go);
  }
}

const struct surface_ops direct_surface = {
    .describe = describe,
    .opened = opened,
    .closed = closed,
    .request = on_request,
    .notification = on_notification,
    .flow = on_flow,
    .cancelled = on_cancelled,
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
      if (s->state == SESSION_OPEN) session_notify(s, NULL, str_of(method), STR_NONE);
    }
  }
}

static void on_lane_settled(void *ctx) {
  struct direct *d = ctx;
  direct_lists_check(d);
  calls_settled(&d->calls);
}
static void on_upstream_request(void *ctx, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  direct_ask(ctx, lane, via, m);
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
  list_init(&d->asks);
  buf_init(&d->text, 1u << 30);
  return d;
}

void direct_join(struct direct *d, struct mcp_server *server, struct upstreams *upstreams) {
  d->server = server;
  d->upstreams = upstreams;
  call_context_init(&d->calls, upstreams, d->opt.max_message);
  d->calls.wait_until = direct_wait_until;
  d->calls.find_task = find_task;
  d->calls.answered = on_answered;
  d->calls.ctx = d;
}

void direct_free(struct direct **direct) {
  struct direct *d = *direct;
  if (!d) return;
  *direct = NULL;
  ASSERT(list_empty(&d->parked) && list_empty(&d->asks));
  if (d->upstreams) call_context_done(&d->calls);
  buf_done(&d->text);
  mem_free(d);
}
