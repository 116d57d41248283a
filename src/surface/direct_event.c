// SPDX-License-Identifier: Apache-2.0
// What upstreams tell by themselves, to whom it concerns; subscriptions and log levels, which decide whom.
#include "base/mem.h"
#include "surface/direct_impl.h"

// ---- requests of our own

struct quiet_call {
  struct link_call call;
};

static void quiet_done(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
  mem_free(CONTAINER_OF(c, struct quiet_call, call));
}

void direct_send_quietly(struct lane *lane, str method, str params) {
  enum { QUIET_MS = 30000 };
  if (lane->state != LANE_READY) return;
  struct quiet_call *q = MEM_NEW(struct quiet_call);
  q->call.done = quiet_done;
  link_call_begin(lane->link, &q->call, QUIET_MS, QUIET_MS);
  link_call_send(&q->call, method, params);
}

// ---- subscriptions

enum { MAX_SUBSCRIPTIONS = 1000, MAX_URI = 8192 };  // of one session

static struct subscription *find_subscription(struct client *client, unsigned source, str uri) {
  LIST_EACH(it, &client->subscriptions) {
    struct subscription *sub = CONTAINER_OF(it, struct subscription, node);
    if (sub->source == source && str_eq(sub->uri, uri)) return sub;
  }
  return NULL;
}

static void subscribe_client(struct client *client, unsigned source, str uri, str shown) {
  if (find_subscription(client, source, uri)) return;
  struct subscription *sub = mem_alloc(sizeof *sub + uri.n + shown.n);
  memcpy(sub->text, uri.p, uri.n);
  memcpy(sub->text + uri.n, shown.p, shown.n);
  sub->source = source;
  sub->uri = (str){sub->text, uri.n};
  sub->shown = (str){sub->text + uri.n, shown.n};
  list_push(&client->subscriptions, &sub->node);
  client->subscription_count++;
}

static struct subscription *find_shown(struct client *client, str shown) {
  LIST_EACH(it, &client->subscriptions) {
    struct subscription *sub = CONTAINER_OF(it, struct subscription, node);
    if (str_eq(sub->shown, shown)) return sub;
  }
  return NULL;
}

// Does another client on the same connection want the same?
static bool wanted_by_others(struct direct *d, const struct client *client, unsigned source, str uri) {
  const struct lane *lane = upstreams_lane_find(d->upstreams, source, client->session);
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    struct client *other = direct_client(s);
    if (!other || other == client || upstreams_lane_find(d->upstreams, source, s) != lane) continue;
    if (find_subscription(other, source, uri)) return true;
  }
  return false;
}

static const struct call_method subscribe_method = {"resources/subscribe", CALL_BY_URI, ITEM_RESOURCE};
static const struct call_method unsubscribe_method = {"resources/unsubscribe", CALL_BY_URI, ITEM_RESOURCE};

static void subscribe(struct direct *d, struct request *r, str shown) {
  struct client *client = direct_client(r->session);
  struct catalog_route route;
  if (client->subscription_count >= MAX_SUBSCRIPTIONS || shown.n > MAX_URI) {
    request_fail(r, RPC_INVALID_PARAMS, "too many subscriptions, or too long a URI", STR_NONE);
    return;
  }
  bool listed = catalog_route(upstreams_catalog(d->upstreams), shown, &route, 1) == 1 && route.listed;
  if (listed && wanted_by_others(d, client, route.source, route.uri)) {
    subscribe_client(client, route.source, route.uri, shown);
    request_reply(r, STR("{}"));
    return;
  }
  call_start(&d->calls, r, &subscribe_method);
}

static void unsubscribe(struct direct *d, struct request *r, str shown) {
  struct client *client = direct_client(r->session);
  struct subscription *sub = find_shown(client, shown);
  bool wanted = sub && wanted_by_others(d, client, sub->source, sub->uri);
  if (sub) {
    list_remove(&sub->node);
    client->subscription_count--;
    mem_free(sub);
  }
  if (wanted) request_reply(r, STR("{}"));
  else call_start(&d->calls, r, &unsubscribe_method);
}

void direct_subscribe(struct direct *d, struct request *r, bool on) {
  str shown;
  if (!json_string(json_get(r->msg.params, STR("uri")), &r->arena, &shown))
    request_fail(r, RPC_INVALID_PARAMS, "params.uri must be a string", STR_NONE);
  else if (on) subscribe(d, r, shown);
  else unsubscribe(d, r, shown);
}

void direct_subscribed(struct direct *d, struct call *c) {
  const struct catalog_route *route = &c->routes[c->route];
  str shown;
  if (json_string(json_get(c->request->msg.params, STR("uri")), &c->request->arena, &shown))
    subscribe_client(direct_client(c->request->session), route->source, route->uri, shown);
}

static void put_uri(struct buf *b, str uri) {
  buf_reset(b);
  buf_str(b, STR("{\"uri\":"));
  json_escape(b, uri);
  buf_char(b, '}');
}

void direct_unsubscribe_all(struct direct *d, struct client *client) {
  for (struct list *n; (n = list_pop(&client->subscriptions));) {
    struct subscription *sub = CONTAINER_OF(n, struct subscription, node);
    struct lane *lane = upstreams_lane_find(d->upstreams, sub->source, client->session);
    // A connection of its own goes with the client, and its subscriptions with it.
    bool shared = lane && !lane->session;
    if (shared && !wanted_by_others(d, client, sub->source, sub->uri)) {
      put_uri(&d->text, sub->uri);
      direct_send_quietly(lane, STR("resources/unsubscribe"), buf_view(&d->text));
    }
    mem_free(sub);
  }
}

// ---- log levels

static const char *const levels[] = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

static int level_of(const struct json *v) {
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    if (json_equals_str(v, str_of(levels[i]))) return (int)i;
  return SESSION_LOG_UNSET;
}

bool direct_level_passes(const struct session *s, const struct json *params) {
  int level = level_of(json_get(params, STR("level")));
  return s->log_level == SESSION_LOG_UNSET || level == SESSION_LOG_UNSET || level >= s->log_level;
}

// What an upstream is to send on a lane: all that any of its clients wants.
static int lane_level(struct direct *d, const struct lane *lane) {
  if (lane->session) return lane->session->log_level;
  int lowest = SESSION_LOG_UNSET;
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    if (s->log_level == SESSION_LOG_UNSET || upstreams_lane_find(d->upstreams, lane_index(lane), s) != lane) continue;
    if (lowest == SESSION_LOG_UNSET || s->log_level < lowest) lowest = s->log_level;
  }
  return lowest;
}

static void send_level(struct direct *d, struct lane *lane) {
  int level = lane_level(d, lane);
  bool wanted = level != SESSION_LOG_UNSET && lane->state == LANE_READY &&
                json_get(link_server_capabilities(lane->link), STR("logging"));
  if (!wanted) return;
  buf_reset(&d->text);
  buf_printf(&d->text, "{\"level\":\"%s\"}", levels[level]);
  direct_send_quietly(lane, STR("logging/setLevel"), buf_view(&d->text));
}

void direct_set_level(struct direct *d, struct request *r) {
  struct session *s = r->session;
  int level = level_of(json_get(r->msg.params, STR("level")));
  if (level == SESSION_LOG_UNSET) {
    request_fail(r, RPC_INVALID_PARAMS,
                 "logging/setLevel needs params.level: debug, info, notice, warning, error, critical, "
                 "alert or emergency",
                 STR_NONE);
    return;
  }
  s->log_level = level;
  for (unsigned i = 0; i < upstreams_count(d->upstreams); i++) {
    struct lane *lane = upstreams_lane_find(d->upstreams, i, s);
    if (lane) send_level(d, lane);
  }
  request_reply(r, STR("{}"));
}

// ---- a lane that is ready (again) knows nothing of what was set up before

void direct_lane_ready(struct direct *d, struct lane *lane) {
  send_level(d, lane);
  struct map done;  // every URI once
  map_init(&done, &d->opt.loop->seed);
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    struct client *client = direct_client(s);
    if (!client || upstreams_lane_find(d->upstreams, lane_index(lane), s) != lane) continue;
    LIST_EACH(sit, &client->subscriptions) {
      struct subscription *sub = CONTAINER_OF(sit, struct subscription, node);
      if (sub->source != lane_index(lane) || !map_add(&done, sub->uri, sub)) continue;
      put_uri(&d->text, sub->uri);
      direct_send_quietly(lane, STR("resources/subscribe"), buf_view(&d->text));
    }
  }
  map_done(&done);
}

// ---- notifications

// A change of a resource, or of one below it: note://1 is not below note://10.
static bool concerns(const struct subscription *sub, unsigned source, str uri) {
  if (sub->source != source || !str_starts(uri, sub->uri)) return false;
  if (uri.n == sub->uri.n || str_ends(sub->uri, STR("/"))) return true;
  char next = uri.p[sub->uri.n];
  return next == '/' || next == '?' || next == '#';
}

static void resource_updated(struct direct *d, struct lane *lane, const struct rpc_message *m) {
  struct arena a;
  str uri;
  arena_init(&a);
  bool named = json_string(json_get(m->params, STR("uri")), &a, &uri);
  LIST_EACH(it, &d->server->sessions) {
    struct session *s = CONTAINER_OF(it, struct session, node);
    struct client *client = direct_client(s);
    if (!named || !client || upstreams_lane_find(d->upstreams, lane_index(lane), s) != lane) continue;
    LIST_EACH(sit, &client->subscriptions) {
      struct subscription *sub = CONTAINER_OF(sit, struct subscription, node);
      if (!concerns(sub, lane_index(lane), uri)) continue;
      struct buf shown, *b = &d->text;
      buf_init(&shown, 65536);
      buf_str(&shown, sub->shown);
      buf_str(&shown, str_from(uri, sub->uri.n));
      str escaped = STR_NONE;
      struct buf text;
      buf_init(&text, 1 << 19);
      json_escape(&text, buf_view(&shown));
      escaped = buf_view(&text);
      buf_reset(b);
      json_copy_edited(b, m->params, &(struct json_edit){STR("uri"), escaped}, 1);
      session_notify(s, NULL, m->method, buf_view(b));
      buf_done(&shown);
      buf_done(&text);
      break;
    }
  }
  arena_done(&a);
}

// The client that made a task hears of its status.
static struct session *task_owner(struct direct *d, struct lane *lane, const struct rpc_message *m) {
  struct arena a;
  str id;
  struct session *owner = NULL;
  arena_init(&a);
  if (json_string(json_get(m->params, STR("taskId")), &a, &id)) {
    LIST_EACH(it, &d->server->sessions) {
      struct session *s = CONTAINER_OF(it, struct session, node);
      struct client *client = direct_client(s);
      struct task *t = client ? map_find(&client->tasks, id) : NULL;
      if (t && t->source == lane_index(lane)) owner = s;
    }
  }
  arena_done(&a);
  return owner;
}

void direct_notification(struct direct *d, struct lane *lane, struct link_call *via, const struct rpc_message *m) {
  if (str_eq(m->method, STR("notifications/cancelled"))) {
    direct_ask_cancelled(d, lane, m);
    return;
  }
  if (str_eq(m->method, STR("notifications/resources/updated"))) {
    resource_updated(d, lane, m);
    return;
  }
  // Progress that nobody waits for any more.
  if (str_eq(m->method, STR("notifications/progress"))) return;
  struct request *related;
  struct session *s = direct_addressee(lane, via, &related);
  if (str_eq(m->method, STR("notifications/tasks/status"))) {
    s = task_owner(d, lane, m);
    if (related && related->session != s) related = NULL;
  }
  bool log = str_eq(m->method, STR("notifications/message"));
  // On a pipe that several clients have used it cannot be seen whose it is: nobody's, rather than another's.
  bool task = str_eq(m->method, STR("notifications/tasks/status"));
  if (lane->mixed && !via && !task) s = NULL;
  if (!s || s->state != SESSION_OPEN || (log && !direct_level_passes(s, m->params))) {
    log_debug(d->opt.loop->log, "%.*s: %.*s is for no client in particular", STR_ARG(lane_name(lane)),
              STR_ARG(m->method));
    return;
  }
  session_send(s, related, json_span(m->root));
}
