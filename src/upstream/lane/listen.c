// SPDX-License-Identifier: Apache-2.0
// Sends subscriptions/listen to a stateless server. The response to this request is a stream of all notifications.
//
// The request names the notifications that its stream carries. To get other notifications, the gateway opens a new
// stream. The old stream is closed when the server has acknowledged the new one, so that no notification is lost.
#include "base/mem.h"
#include "mcp/meta.h"
#include "upstream/lane/watch_impl.h"
#include "json/write.h"

enum {
  PATIENCE_MS = 30000,  // timeout for the acknowledgement of a stream
  RETRY_FIRST_MS = 1000,
  RETRY_MAX_MS = 30000,
  STABLE_MS = 10000,  // a stream that lasted this long resets the delay between retries
};

struct listen {
  struct watches *home;
  struct link_call call;
  struct timer patience;
  uint64_t acknowledged_at;
};

static const struct {
  const char *capability, *key;
} lists[] = {{"tools", "toolsListChanged"}, {"prompts", "promptsListChanged"}, {"resources", "resourcesListChanged"}};
enum { LISTS = sizeof lists / sizeof *lists };

static const struct {
  enum watch_kind kind;
  const char *key;
} things[] = {{WATCH_RESOURCE, "resourceSubscriptions"}, {WATCH_TASK, "taskIds"}};
enum { THINGS = sizeof things / sizeof *things };

static bool is_true(const struct json *v) {
  bool value = false;
  return json_bool(v, &value) && value;
}

// Returns whether the server reports changes of the list that belongs to this capability.
static bool declares(const struct watches *home, const char *capability) {
  const struct json *all = link_server_capabilities(home->lane->link);
  return is_true(json_get(json_get(all, str_of(capability)), STR("listChanged")));
}

bool listen_wanted(const struct watches *home) {
  if (!list_empty(&home->list)) return true;
  bool any = false;
  for (int i = 0; i < LISTS; i++) any |= lane_stateless(home->lane) && declares(home, lists[i].capability);
  return any;
}

// ---- ending a stream

static void listen_end(struct listen **listen) {
  struct listen *s = *listen;
  if (!s) return;
  *listen = NULL;
  timer_stop(&s->patience);
  link_call_cancel(&s->call, STR("no longer needed"));
  mem_free(s);
}

void listen_close(struct watches *home) {
  listen_end(&home->next);
  listen_end(&home->current);
  timer_stop(&home->retry);
  home->tries = 0;
  home->refused = home->shrunk = home->gap = false;
}

static void try_later(struct watches *home) {
  uint64_t ms = RETRY_FIRST_MS;
  for (unsigned i = 0; i < home->tries && ms < RETRY_MAX_MS; i++) ms *= 2;
  home->tries++;
  if (!home->refused) timer_start(home->loop, &home->retry, ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS);
}

// Called when a stream ends before the server has acknowledged it. Fails all watches that the stream requested.
static void stream_refused(struct watches *home, const struct rpc_message *refusal, const struct fault *f) {
  watches_enter(home);
  for (struct lane_watch *t; (t = watches_next(home));) {
    if (t->state != WATCH_ASKED) continue;
    t->state = WATCH_IDLE;
    watch_settle(t, refusal, f);
  }
  watches_leave(home);
}

// Called when the server has ended an acknowledged stream. Its watches must be requested again, unless the next stream
// already requests them.
static void stream_ended(struct watches *home) {
  home->gap = true;
  LIST_EACH(it, &home->list) {
    struct lane_watch *t = CONTAINER_OF(it, struct lane_watch, node);
    if (t->state == WATCH_AGREED) t->state = home->next ? WATCH_ASKED : WATCH_IDLE;
  }
}

static void listen_over(struct listen *s, const struct rpc_message *refusal, const struct fault *f) {
  struct watches *home = s->home;
  bool acknowledged = s == home->current;
  if (f)
    log_debug(home->loop->log, "%.*s: subscriptions/listen has ended: the server %s", STR_ARG(lane_name(home->lane)),
              f->message);
  if (acknowledged && loop_now(home->loop) - s->acknowledged_at >= STABLE_MS) home->tries = 0;
  listen_end(acknowledged ? &home->current : &home->next);
  try_later(home);
  if (acknowledged) stream_ended(home);
  else stream_refused(home, refusal, f);
}

static void on_done(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
  struct listen *s = CONTAINER_OF(c, struct listen, call);
  struct fault ended;
  if (f) {
    listen_over(s, NULL, f);
  } else if (reply->kind == RPC_ERROR) {
    int64_t code = 0;
    json_int(json_get(reply->error, STR("code")), &code);
    s->home->refused = code == RPC_METHOD_NOT_FOUND || code == RPC_INVALID_PARAMS;
    listen_over(s, reply, NULL);
  } else {
    fault_set(&ended, FAULT_UPSTREAM_UNAVAILABLE, "has ended its stream of notifications");
    listen_over(s, NULL, &ended);
  }
}

static void on_impatient(struct timer *t) {
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not acknowledge subscriptions/listen within %d s", PATIENCE_MS / 1000);
  listen_over(CONTAINER_OF(t, struct listen, patience), NULL, &f);
}

// ---- opening a stream

static void put_things(struct json_writer *w, const struct watches *home, enum watch_kind kind, str key) {
  bool any = false;
  LIST_EACH(it, &home->list) {
    const struct lane_watch *t = CONTAINER_OF(it, struct lane_watch, node);
    if (t->kind != kind) continue;
    if (!any) {
      json_put_key(w, key);
      json_begin_array(w);
    }
    any = true;
    json_put_str(w, t->id);
  }
  if (any) json_end_array(w);
}

static void put_params(struct buf *out, const struct watches *home) {
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_put_key(&w, STR("notifications"));
  json_begin_object(&w);
  for (int i = 0; i < LISTS; i++) {
    if (!declares(home, lists[i].capability)) continue;
    json_put_key(&w, str_of(lists[i].key));
    json_put_bool(&w, true);
  }
  for (int i = 0; i < THINGS; i++) put_things(&w, home, things[i].kind, str_of(things[i].key));
  json_end_object(&w);
  json_put_key(&w, STR("_meta"));
  json_put_raw(&w, link_meta(home->lane->link));
  json_end_object(&w);
}

static void listen_open(struct watches *home) {
  struct lane *lane = home->lane;
  struct listen *s = MEM_NEW(struct listen);
  s->home = home;
  s->call.done = on_done;
  timer_init(&s->patience, on_impatient);
  home->next = s;
  home->shrunk = home->refused = false;
  timer_stop(&home->retry);
  LIST_EACH(it, &home->list) {
    struct lane_watch *t = CONTAINER_OF(it, struct lane_watch, node);
    if (t->state != WATCH_AGREED || !list_empty(&t->waiting)) t->state = WATCH_ASKED;
  }
  struct buf params;
  buf_init(&params, lane->upstream->all->opt.max_message);
  put_params(&params, home);
  if (params.over) {
    struct fault f;
    fault_set(&f, FAULT_LIMIT, "has too many subscriptions: subscriptions/listen is larger than limits.message");
    listen_over(s, NULL, &f);
  } else {
    timer_start(home->loop, &s->patience, PATIENCE_MS);
    link_call_begin(lane->link, &s->call, 0, 0);
    link_call_send(&s->call, STR("subscriptions/listen"), buf_view(&params));
  }
  buf_done(&params);
}

void listen_update(struct watches *home) {
  bool unasked = false, waited_for = false;
  if (home->next) return;  // on_acknowledged calls this function again when the next stream is acknowledged
  LIST_EACH(it, &home->list) {
    const struct lane_watch *t = CONTAINER_OF(it, struct lane_watch, node);
    waited_for |= !list_empty(&t->waiting);
    unasked |= t->state == WATCH_IDLE || !list_empty(&t->waiting);
  }
  if (!listen_wanted(home)) {
    listen_close(home);
    return;
  }
  // If the server has refused the last stream, or the retry timer runs, open a stream only if a watcher waits for an
  // answer.
  if (!waited_for && (home->refused || timer_running(&home->retry))) return;
  if (!home->current || home->shrunk || unasked) listen_open(home);
}

static void on_retry(struct timer *t) {
  watches_gather(CONTAINER_OF(t, struct watches, retry));
}

void listen_init(struct watches *home) {
  timer_init(&home->retry, on_retry);
}

// ---- received messages

// Marks the watches that the server's acknowledgement contains. `ids` are URIs or task ids. Returns the number of
// marked watches.
static size_t mark_honoured(struct watches *home, enum watch_kind kind, const struct json *ids) {
  struct arena a;
  size_t n = 0;
  if (!json_is(ids, JSON_ARRAY)) return 0;
  arena_init(&a);
  JSON_EACH(it, ids) {
    str id;
    struct lane_watch *t = json_string(it, &a, &id) ? map_find(&home->by_id[kind], id) : NULL;
    if (!t) continue;
    t->honoured = true;
    n++;
  }
  arena_done(&a);
  return n;
}

static void report_acknowledged(struct watches *home) {
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_ERROR, "does not accept subscriptions to this resource or task");
  watches_enter(home);
  for (struct lane_watch *t; (t = watches_next(home));) {
    bool asked = t->state == WATCH_ASKED || t->state == WATCH_AGREED, honoured = t->honoured;
    t->honoured = false;
    if (!asked) continue;
    t->state = honoured ? WATCH_AGREED : WATCH_REFUSED;
    watch_settle(t, NULL, honoured ? NULL : &f);
  }
  watches_leave(home);
}

static void on_acknowledged(struct listen *s, const struct json *params) {
  struct watches *home = s->home;
  const struct json *agreed = json_get(params, STR("notifications"));
  size_t n = 0;
  listen_end(&home->current);
  home->current = s;
  home->next = NULL;
  s->acknowledged_at = loop_now(home->loop);
  timer_stop(&s->patience);
  timer_stop(&home->retry);
  for (int i = 0; i < LISTS; i++) n += is_true(json_get(agreed, str_of(lists[i].key)));
  for (int i = 0; i < THINGS; i++) n += mark_honoured(home, things[i].kind, json_get(agreed, str_of(things[i].key)));
  // The server may close a stream without subscriptions, and would do so again after each retry.
  home->refused = n == 0;
  if (home->gap) lane_refresh(home->lane);
  home->gap = false;
  watches_gather(home);  // requests watches that were added after the request of this stream
  report_acknowledged(home);
}

static bool has_id(const struct listen *s, const struct json *id) {
  int64_t value;
  return s && s->call.link && json_int(id, &value) && value >= 0 && (uint64_t)value == s->call.wait.id;
}

// Returns the stream to which a notification belongs. On stdio (`via` is NULL), all streams share one pipe, and `id` in
// the notification identifies the stream.
static struct listen *stream_of(const struct watches *home, const struct link_call *via, const struct json *id) {
  struct listen *both[] = {home->next, home->current};
  for (int i = 0; i < 2; i++)
    if (both[i] && (via ? via == &both[i]->call : has_id(both[i], id))) return both[i];
  return NULL;
}

bool listen_receive(struct watches *home, struct link_call **via, const struct rpc_message *m) {
  bool ended = str_eq(m->method, STR("notifications/cancelled"));
  const struct json *meta = json_get(m->params, STR("_meta"));
  const struct json *tag = ended ? json_get(m->params, STR("requestId")) : json_get(meta, META_SUBSCRIPTION);
  struct listen *s = stream_of(home, *via, tag);
  // Drop notifications of a stream that was replaced, because the new stream carries them too. They can still arrive on
  // stdio.
  if (!s && tag && !ended) return true;
  if (s) *via = NULL;
  if (str_eq(m->method, STR("notifications/subscriptions/acknowledged"))) {
    if (s && s == home->next) on_acknowledged(s, m->params);
    return true;
  }
  if (!s || !ended) return false;
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_UNAVAILABLE, "ended the stream of notifications");
  listen_over(s, NULL, &f);
  return true;
}
