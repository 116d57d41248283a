// SPDX-License-Identifier: Apache-2.0
#include "surface/direct/direct_listen.h"
#include "base/assert.h"
#include "call/audit_recorder.h"
#include "mcp/meta.h"
#include "surface/direct/direct_watch.h"
#include "surface/surface_state.h"
#include "surface/wait.h"

enum { PATIENCE_MS = 10000 };  // longest wait for upstreams that neither accept nor refuse a subscription

static const struct {
  const char *name;
  enum item_kind kind;
} lists[] = {
    {"toolsListChanged", ITEM_TOOL},
    {"promptsListChanged", ITEM_PROMPT},
    {"resourcesListChanged", ITEM_RESOURCE},
};
enum { LISTS = sizeof lists / sizeof *lists };

bool direct_listens(const struct surface_client *client, enum item_kind kind) {
  const struct listening *l = &client->listening;
  return l->request && l->acknowledged && l->changes[kind == ITEM_TEMPLATE ? ITEM_RESOURCE : kind];
}

static void send_tagged(struct surface_client *client, str method, str members) {
  struct listening *l = &client->listening;
  ASSERT(l->request && l->acknowledged);
  struct buf b;
  buf_init(&b, members.n + l->request->id.n + 128);
  buf_str(&b, STR("{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":"));
  buf_str(&b, l->request->id);
  buf_str(&b, members.n ? STR("},") : STR("}"));
  buf_str(&b, members);
  buf_char(&b, '}');
  session_notify(client->session, l->request, method, buf_view(&b));
  buf_done(&b);
}

void direct_listen_notify(struct surface_client *client, str method, str params) {
  const struct listening *l = &client->listening;
  // The acknowledgement must be the first message. Changes before the acknowledgement are not sent.
  if (!l->request || !l->acknowledged) return;
  struct arena a;
  struct fault f;
  arena_init(&a);
  const struct json *p = params.n ? json_parse(&a, params, &json_default_limits, &f) : NULL;
  struct buf members;
  buf_init(&members, params.n + 2);
  if (json_is(p, JSON_OBJECT)) {
    json_copy_edited(&members, p, &(struct json_edit){STR("_meta"), STR_NONE}, 1);
    ASSERT(members.n >= 2);
    send_tagged(client, method, str_trim((str){members.p + 1, members.n - 2}));  // removes the braces of the object
  } else {
    send_tagged(client, method, STR_NONE);
  }
  buf_done(&members);
  arena_done(&a);
}

static void acknowledge(struct surface_client *client) {
  struct listening *l = &client->listening;
  ASSERT(l->request && !l->waiting);
  if (l->acknowledged) return;
  l->acknowledged = true;
  timer_stop(&l->patience);
  struct buf b;
  buf_init(&b, (size_t)l->request->value->n * 2 + 1024);  // enough for the names in the request after escaping
  struct json_writer w = json_writer(&b);
  const struct json *asked = json_get(l->request->msg.params, STR("notifications"));
  buf_str(&b, STR("\"notifications\":"));
  json_begin_object(&w);
  for (size_t i = 0; i < LISTS; i++) {
    if (!l->changes[lists[i].kind]) continue;
    json_put_key(&w, str_of(lists[i].name));
    json_put_bool(&w, true);
  }
  static const struct {
    const char *name;
    enum watch_kind kind;
  } watched[] = {{"resourceSubscriptions", WATCH_RESOURCE}, {"taskIds", WATCH_TASK}};
  for (size_t i = 0; i < 2; i++) {
    if (!json_get(asked, str_of(watched[i].name))) continue;
    json_put_key(&w, str_of(watched[i].name));
    json_begin_array(&w);
    direct_put_agreed(client, watched[i].kind, &w);
    json_end_array(&w);
  }
  json_end_object(&w);
  // The request may stay open for days, so its audit line is written now.
  audit_recorder_close(client->d->opt.calls.audit_recorder, l->request, buf_view(&b));
  send_tagged(client, STR("notifications/subscriptions/acknowledged"), buf_view(&b));
  buf_done(&b);
}

void direct_listen_settled(struct surface_client *client) {
  struct listening *l = &client->listening;
  if (l->pending && --l->pending == 0) acknowledge(client);
}

static void listen_to_all(struct surface_client *client, const struct json *ids, enum watch_kind kind) {
  if (!json_is(ids, JSON_ARRAY)) return;
  JSON_EACH(it, ids) {
    str id;
    if (json_string(it, &client->listening.request->arena, &id)) direct_listen_to(client, kind, id);
  }
}

// Starts all subscriptions that the request subscriptions/listen names.
static void subscribe_all(struct surface_client *client) {
  struct listening *l = &client->listening;
  const struct json *asked = json_get(l->request->msg.params, STR("notifications"));
  l->waiting = false;
  timer_start(client->d->opt.loop, &l->patience, PATIENCE_MS);
  // direct_listen_settled below decrements this, so that the acknowledgement waits until all subscriptions are started.
  l->pending = 1;
  if (client->session->mode == MODE_DIRECT) {
    listen_to_all(client, json_get(asked, STR("resourceSubscriptions")), WATCH_RESOURCE);
    listen_to_all(client, json_get(asked, STR("taskIds")), WATCH_TASK);
  }
  direct_listen_settled(client);
}

static void on_patience(struct timer *t) {
  struct listening *l = CONTAINER_OF(t, struct listening, patience);
  struct surface_client *client = CONTAINER_OF(l, struct surface_client, listening);
  if (l->waiting) subscribe_all(client);
  else acknowledge(client);
}

void direct_listen_init(struct surface_client *client) {
  timer_init(&client->listening.patience, on_patience);
}

void direct_listen(struct surface *d, struct request *r) {
  struct surface_client *client = surface_client(r->session);
  struct listening *l = &client->listening;
  const struct json *asked = json_get(r->msg.params, STR("notifications"));
  if (!json_is(asked, JSON_OBJECT)) {
    request_fail(r, RPC_INVALID_PARAMS, "params.notifications must be an object", STR_NONE);
    return;
  }
  l->request = r;
  for (size_t i = 0; i < LISTS; i++) {
    bool has_it = r->session->mode == MODE_DIRECT || lists[i].kind == ITEM_TOOL;
    if (has_it) json_bool(json_get(asked, str_of(lists[i].name)), &l->changes[lists[i].kind]);
  }
  uint64_t now = loop_now(d->opt.loop), until = surface_wait_until(d, r->session);
  l->waiting = now < until && !upstreams_settle(d->upstreams, r->session);
  if (l->waiting) timer_start(d->opt.loop, &l->patience, until - now);
  else subscribe_all(client);
}

void direct_listens_check(struct surface *d) {
  LIST_EACH(it, &d->server->sessions) {
    struct surface_client *client = surface_client(CONTAINER_OF(it, struct session, node));
    bool ready = client && client->listening.waiting && upstreams_settle(d->upstreams, client->session);
    if (ready) subscribe_all(client);
  }
}

void direct_stop_listening(void *surface, struct request *r) {
  struct buf b;
  buf_init(&b, r->id.n + 256);
  buf_printf(&b, "{\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%.*s}}",
             STR_ARG(r->id));
  request_reply_whole(r, buf_view(&b));
  buf_done(&b);
}
