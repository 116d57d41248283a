// SPDX-License-Identifier: Apache-2.0
#include "surface/direct/direct_watch.h"
#include "base/assert.h"
#include "base/mem.h"
#include "call/audit_recorder.h"
#include "call/bridge/tasks.h"
#include "call/steps/steps.h"
#include "mcp/meta.h"
#include "surface/direct/direct_listen.h"
#include "surface/surface_state.h"
#include "surface/visibility.h"

// Maximum number of subscriptions of a session, and maximum bytes of a URI.
enum { MAX_SUBSCRIPTIONS = 1000, MAX_URI = 8192 };

struct subscription {
  struct list node;
  struct surface_client *client;
  struct watcher watcher;
  struct lane_waiter waiter;
  struct call *call;  // the request resources/subscribe while it waits for the upstream; otherwise NULL
  enum watch_kind kind;
  unsigned source;
  bool agreed;
  str id;     // URI or task id at the upstream
  str shown;  // URI or task id as the client names it
  char text[];
};

static struct subscription *at(struct list *node) {
  return CONTAINER_OF(node, struct subscription, node);
}

static struct subscription *find(const struct surface_client *client, enum watch_kind kind, str shown) {
  LIST_EACH(it, &client->subscriptions)
    if (at(it)->kind == kind && str_eq(at(it)->shown, shown)) return at(it);
  return NULL;
}

static struct subscription *add(struct surface_client *client, enum watch_kind kind, unsigned source, str id,
                                str shown) {
  ASSERT(client->subscription_count < MAX_SUBSCRIPTIONS && shown.n <= MAX_URI);
  struct subscription *sub = mem_zero(sizeof *sub + id.n + shown.n);
  memcpy(sub->text, id.p, id.n);
  memcpy(sub->text + id.n, shown.p, shown.n);
  sub->client = client;
  sub->kind = kind;
  sub->source = source;
  sub->id = (str){sub->text, id.n};
  sub->shown = (str){sub->text + id.n, shown.n};
  const struct session *s = client->session;
  sub->watcher.payer = s->principal >= 0 ? session_principal(s) : STR_NONE;
  list_init(&sub->waiter.node);
  list_push(&client->subscriptions, &sub->node);
  client->subscription_count++;
  return sub;
}

static void drop(struct subscription *sub) {
  lane_unwait(&sub->waiter);
  watch_stop(&sub->watcher);
  list_remove(&sub->node);
  ASSERT(sub->client->subscription_count > 0);
  sub->client->subscription_count--;
  mem_free(sub);
}

void direct_unsubscribe_all(struct surface_client *client) {
  while (!list_empty(&client->subscriptions)) drop(at(client->subscriptions.next));
  ASSERT(!client->subscription_count);
}

// Returns whether the current rules let the client use the server.
static bool is_allowed(struct surface_client *client, unsigned source) {
  struct caller caller;
  struct fault f;
  return surface_caller(client->d, client->session, &caller, &f) && surface_sees_server(client->d, &caller, source);
}

// Does not end subscriptions that the upstream has not accepted yet: the rules are checked again before each update is
// sent.
void direct_unsubscribe_denied(struct surface *d) {
  LIST_EACH(it, &d->server->sessions) {
    struct surface_client *client = surface_client(CONTAINER_OF(it, struct session, node));
    if (!client) continue;
    LIST_EACH(sit, &client->subscriptions)
      if (at(sit)->agreed && !is_allowed(client, at(sit)->source)) drop(at(sit));
  }
}

// ---- resources/subscribe

static void on_settled(struct watcher *w, const struct rpc_message *refusal, const struct fault *f) {
  struct subscription *sub = CONTAINER_OF(w, struct subscription, watcher);
  struct call *c = sub->call;
  sub->call = NULL;
  sub->agreed = !refusal && !f;
  if (!sub->agreed) drop(sub);
  if (!c) return;                                    // the client no longer waits
  if (f && f->again) call_restart(c, STEP_CONNECT);  // the server was replaced: sends the request to the new server
  else if (f) call_fault(c, f);
  else if (!refusal) call_reply(c, STR("{}"));
  else if (!call_try_next(c)) call_answer(c, refusal);
}

enum call_result direct_subscribe(void *surface, struct call *c) {
  struct surface_client *client = surface_client(c->session);
  const struct catalog_route *route = &c->routes[c->route];
  str shown;
  bool named = json_string(json_get(c->request->msg.params, STR("uri")), &c->request->arena, &shown);
  if (!named || shown.n > MAX_URI)
    return call_refuse(c, RPC_INVALID_PARAMS, "cannot subscribe to a URI longer than 8 KiB", STR_NONE);
  if (client->subscription_count >= MAX_SUBSCRIPTIONS)
    return call_refuse(c, RPC_INVALID_PARAMS,
                       "this session has 1000 subscriptions, the maximum; unsubscribe from some resources first",
                       STR_NONE);
  if (find(client, WATCH_RESOURCE, shown)) {
    call_reply(c, STR("{}"));
    return CALL_DONE;
  }
  struct subscription *sub = add(client, WATCH_RESOURCE, route->source, route->uri, shown);
  ASSERT(c->lane);
  sub->call = c;
  sub->watcher.settled = on_settled;
  watch_start(c->lane, WATCH_RESOURCE, sub->id, &sub->watcher);
  return CALL_WAIT;
}

void direct_subscribe_over(void *surface, struct call *c) {
  LIST_EACH(it, &surface_client(c->session)->subscriptions)
    if (at(it)->call == c) drop(at(it));
}

void direct_unsubscribe(struct surface *d, struct request *r) {
  str shown;
  if (!json_string(json_get(r->msg.params, STR("uri")), &r->arena, &shown)) {
    request_fail(r, RPC_INVALID_PARAMS, "params.uri must be a string", STR_NONE);
    return;
  }
  struct subscription *sub = find(surface_client(r->session), WATCH_RESOURCE, shown);
  audit_recorder_target(r, shown);
  if (sub && !sub->call) drop(sub);
  request_reply(r, STR("{}"));
}

// ---- subscriptions of subscriptions/listen

static void on_lane(struct lane_waiter *w, const struct fault *f);

// Called when the server of a subscription was replaced: waits for a connection to the new server. Returns false if
// there is no new server, or if the new server has too many connections.
static bool await_anew(struct subscription *sub) {
  struct fault full;
  struct lane *lane = upstreams_lane(sub->client->d->upstreams, sub->source, sub->client->session, &full);
  if (!lane) return false;
  sub->waiter.go = on_lane;
  lane_await(lane, &sub->waiter);
  return true;
}

static void listen_settled(struct watcher *w, const struct rpc_message *refusal, const struct fault *f) {
  struct subscription *sub = CONTAINER_OF(w, struct subscription, watcher);
  struct surface_client *client = sub->client;
  if (f && f->again && await_anew(sub)) return;
  sub->agreed = !refusal && !f;
  if (!sub->agreed) drop(sub);
  direct_listen_settled(client);
}

static void on_lane(struct lane_waiter *w, const struct fault *f) {
  struct subscription *sub = CONTAINER_OF(w, struct subscription, waiter);
  struct surface_client *client = sub->client;
  if (f && f->again && await_anew(sub)) return;
  struct lane *lane = upstreams_lane_find(client->d->upstreams, sub->source, client->session);
  bool possible = !f && lane && lane->state == LANE_READY && (sub->kind == WATCH_RESOURCE || lane_stateless(lane));
  if (possible) {
    sub->watcher.settled = listen_settled;
    watch_start(lane, sub->kind, sub->id, &sub->watcher);
  } else {
    drop(sub);
    direct_listen_settled(client);
  }
}

static bool find_source(struct surface_client *client, enum watch_kind kind, str shown, struct catalog_route *out) {
  struct surface *d = client->d;
  struct caller caller;
  struct fault f;
  // Accepts only URIs that a server lists, because asking every server for each URI of a long list would be slow.
  if (kind == WATCH_RESOURCE) {
    if (!surface_caller(d, client->session, &caller, &f)) return false;
    struct naming names = surface_naming(d, &caller, upstreams_catalog(d->upstreams));
    return naming_route(&names, shown, out, 1) == 1 && out->listed;
  }
  const struct task *task = tasks_find(d->calls.tasks, client->session, shown);
  if (task) *out = (struct catalog_route){.source = task->source, .uri = task->id};
  return task != NULL;
}

void direct_listen_to(struct surface_client *client, enum watch_kind kind, str shown) {
  struct catalog_route route;
  struct fault f;
  bool fits = shown.n <= MAX_URI && client->subscription_count < MAX_SUBSCRIPTIONS;
  if (!fits || find(client, kind, shown) || !find_source(client, kind, shown, &route)) return;
  if (!is_allowed(client, route.source)) return;
  struct lane *lane = upstreams_lane(client->d->upstreams, route.source, client->session, &f);
  if (!lane) return;
  struct subscription *sub = add(client, kind, route.source, route.uri, shown);
  client->listening.pending++;
  sub->waiter.go = on_lane;
  lane_await(lane, &sub->waiter);
}

void direct_put_agreed(const struct surface_client *client, enum watch_kind kind, struct json_writer *w) {
  LIST_EACH(it, &client->subscriptions)
    if (at(it)->kind == kind && at(it)->agreed) json_put_str(w, at(it)->shown);
}

void direct_watch_again(struct surface_client *client, struct lane *lane) {
  LIST_EACH(it, &client->subscriptions) {
    struct subscription *sub = at(it);
    bool lost = sub->agreed && sub->source == lane_index(lane) && !watch_lane(&sub->watcher);
    if (!lost) continue;
    sub->watcher.settled = NULL;
    watch_start(lane, sub->kind, sub->id, &sub->watcher);
  }
}

static void on_lane_anew(struct lane_waiter *w, const struct fault *f);

static void watch_anew(struct subscription *sub) {
  struct upstreams *all = sub->client->d->upstreams;
  struct fault f;
  bool lost = sub->agreed && !watch_lane(&sub->watcher) && !upstreams_gone(all, sub->source);
  struct lane *lane = lost ? upstreams_lane(all, sub->source, sub->client->session, &f) : NULL;
  if (!lane) return;
  lane_unwait(&sub->waiter);
  sub->waiter.go = on_lane_anew;
  lane_await(lane, &sub->waiter);
}

// Subscribes again on the new connection. If this fails, direct_watch_again tries again when the connection is ready.
static void on_lane_anew(struct lane_waiter *w, const struct fault *f) {
  struct subscription *sub = CONTAINER_OF(w, struct subscription, waiter);
  if (f && f->again) watch_anew(sub);
  if (f || watch_lane(&sub->watcher)) return;
  sub->watcher.settled = NULL;
  watch_start(w->lane, sub->kind, sub->id, &sub->watcher);
}

void direct_watch_anew(struct surface *d) {
  LIST_EACH(it, &d->server->sessions) {
    struct surface_client *client = surface_client(CONTAINER_OF(it, struct session, node));
    if (!client) continue;
    LIST_EACH(sit, &client->subscriptions) watch_anew(at(sit));
  }
}

// ---- changes

// Returns whether `uri` is the subscribed resource or under it: note://1/a is under note://1, but note://10 is not.
static bool concerns(const struct subscription *sub, str uri) {
  if (sub->kind != WATCH_RESOURCE || !str_starts(uri, sub->id)) return false;
  if (uri.n == sub->id.n || str_ends(sub->id, STR("/"))) return true;
  char next = uri.p[sub->id.n];
  return next == '/' || next == '?' || next == '#';
}

static void send_update(struct subscription *sub, const struct rpc_message *m, str uri) {
  struct buf shown, text, params;
  buf_init(&shown, sub->shown.n + uri.n);
  buf_init(&text, (sub->shown.n + uri.n) * 6 + 2);
  buf_init(&params, (size_t)m->params->n + text.max + 16);
  buf_str(&shown, sub->shown);
  buf_str(&shown, str_from(uri, sub->id.n));
  json_escape(&text, buf_view(&shown));
  // A stateless server adds the id of the gateway's own subscription to _meta. This id must not reach the client.
  bool tagged = json_get(json_get(m->params, STR("_meta")), META_SUBSCRIPTION);
  struct json_edit edits[] = {{STR("uri"), buf_view(&text)}, {STR("_meta"), STR_NONE}};
  json_copy_edited(&params, m->params, edits, tagged ? 2 : 1);
  struct surface_client *client = sub->client;
  if (client->session->revision->stateless) direct_listen_notify(client, m->method, buf_view(&params));
  else session_notify(client->session, NULL, m->method, buf_view(&params));
  buf_done(&shown);
  buf_done(&text);
  buf_done(&params);
}

void direct_resource_updated(struct surface *d, struct lane *lane, const struct rpc_message *m) {
  struct arena a;
  str uri;
  arena_init(&a);
  bool named = json_string(json_get(m->params, STR("uri")), &a, &uri);
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    struct surface_client *client = surface_client(s);
    if (!named || !client) continue;
    LIST_EACH(sit, &client->subscriptions) {
      if (watch_lane(&at(sit)->watcher) != lane || !concerns(at(sit), uri)) continue;
      if (!is_allowed(client, at(sit)->source)) continue;
      send_update(at(sit), m, uri);
      break;
    }
  }
  arena_done(&a);
}

// Forwards the notification unchanged, because clients and upstreams use the same task ids.
void direct_task_changed(struct surface *d, struct lane *lane, const struct rpc_message *m) {
  const struct json *id = json_get(m->params, STR("taskId"));
  LIST_EACH(it, &d->server->sessions) {
    struct surface_client *client = surface_client(CONTAINER_OF(it, struct session, node));
    if (!client) continue;
    LIST_EACH(sit, &client->subscriptions) {
      const struct subscription *sub = at(sit);
      bool same = sub->kind == WATCH_TASK && watch_lane(&sub->watcher) == lane && json_equals_str(id, sub->id);
      if (same && is_allowed(client, sub->source)) direct_listen_notify(client, m->method, json_span(m->params));
    }
  }
}
