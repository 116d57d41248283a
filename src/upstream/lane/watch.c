// SPDX-License-Identifier: Apache-2.0
// The subscriptions of a lane to changes of resources and tasks, called watches. Sends resources/subscribe to servers
// with a handshake; listen.c handles stateless servers.
//
// watch_start and watch_stop send nothing; on_gather sends all requests at the end of the turn of the loop. Only
// on_gather frees single watches; all watches are freed with their lane.
#include "base/assert.h"
#include "base/mem.h"
#include "upstream/lane/watch_impl.h"
#include "json/write.h"

enum { MAX_WATCHES = 4096 };  // maximum number of watches on one lane

static void on_gather(struct deferred *d);

static struct watches *watches_of(struct lane *lane) {
  if (lane->watches) return lane->watches;
  struct watches *home = MEM_NEW(struct watches);
  home->lane = lane;
  home->loop = lane->upstream->all->opt.loop;
  for (int kind = 0; kind < WATCH_KINDS; kind++) map_init(&home->by_id[kind], &home->loop->seed);
  shares_init(&home->shares, &home->loop->seed, MAX_WATCHES);
  list_init(&home->list);
  list_init(&home->todo);
  deferred_init(&home->gather, on_gather);
  listen_init(home);
  lane->watches = home;
  return home;
}

static struct lane_watch *watch_new(struct watches *home, enum watch_kind kind, str id, str payer) {
  struct lane_watch *t = mem_zero(sizeof *t + id.n);
  memcpy(t->text, id.p, id.n);
  t->home = home;
  t->share = shares_take(&home->shares, payer);
  t->kind = kind;
  t->id = (str){t->text, id.n};
  list_init(&t->waiting);
  list_init(&t->settling);
  list_init(&t->agreed);
  list_push(&home->list, &t->node);
  map_add(&home->by_id[kind], t->id, t);
  return t;
}

static void watch_free(struct lane_watch *t) {
  map_remove(&t->home->by_id[t->kind], t->id);
  shares_drop(&t->home->shares, &t->share);
  list_remove(&t->node);
  mem_free(t);
}

static void destroy(struct watches *home) {
  for (struct list *n; (n = list_pop(&home->todo));) list_push(&home->list, n);
  while (!list_empty(&home->list)) watch_free(CONTAINER_OF(home->list.next, struct lane_watch, node));
  for (int kind = 0; kind < WATCH_KINDS; kind++) map_done(&home->by_id[kind]);
  shares_done(&home->shares);
  mem_free(home);
}

// ---- iteration

void watches_enter(struct watches *home) {
  home->busy++;
  for (struct list *n; (n = list_pop(&home->list));) list_push(&home->todo, n);
}

struct lane_watch *watches_next(struct watches *home) {
  struct list *n = list_pop(&home->todo);
  if (!n) return NULL;
  list_push(&home->list, n);
  return CONTAINER_OF(n, struct lane_watch, node);
}

void watches_leave(struct watches *home) {
  if (--home->busy == 0 && !home->lane) destroy(home);
}

// ---- settling watchers

static bool wanted(const struct lane_watch *t) {
  return !list_empty(&t->agreed) || !list_empty(&t->waiting) || !list_empty(&t->settling);
}

static bool any_wanted(const struct list *watches) {
  LIST_EACH(it, watches)
    if (wanted(CONTAINER_OF(it, struct lane_watch, node))) return true;
  return false;
}

bool watches_wanted(const struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->watches && (any_wanted(&lane->watches->list) || any_wanted(&lane->watches->todo));
}

void watch_settle(struct lane_watch *t, const struct rpc_message *refusal, const struct fault *f) {
  struct watches *home = t->home;
  bool agreed = !refusal && !f;
  // Moves the waiting watchers to another list. Callbacks may add watchers to `waiting`; these must wait for the next
  // answer.
  for (struct list *n; (n = list_pop(&t->waiting));) list_push(&t->settling, n);
  home->busy++;
  for (struct list *n; (n = list_pop(&t->settling));) {
    struct watcher *w = CONTAINER_OF(n, struct watcher, node);
    if (agreed) list_push(&t->agreed, n);
    else w->watch = NULL;
    if (w->settled) w->settled(w, refusal, f);
  }
  if (!wanted(t)) watches_gather(home);
  watches_leave(home);
}

// ---- subscriptions to servers with a session

static void on_answer(struct link_call *c, const struct rpc_message *reply, const struct fault *f) {
  struct lane_watch *t = CONTAINER_OF(c, struct lane_watch, call);
  bool left = t->state == WATCH_LEAVING, agreed = reply && reply->kind == RPC_RESULT;
  t->state = left ? WATCH_IDLE : agreed ? WATCH_AGREED : WATCH_REFUSED;
  if (left || !wanted(t)) watches_gather(t->home);
  if (!left) watch_settle(t, agreed ? NULL : reply, f);
}

static void ask(struct lane_watch *t, enum watch_state state, str method) {
  struct lane *lane = t->home->lane;
  struct upstreams *all = lane->upstream->all;
  struct buf params;
  buf_init(&params, t->id.n * 6 + 64);
  buf_str(&params, STR("{\"uri\":"));
  json_escape(&params, t->id);
  buf_char(&params, '}');
  t->state = state;
  t->call.done = on_answer;
  link_call_begin(lane->link, &t->call, upstreams_timeout(all, lane_index(lane)), all->opt.request_max_ms);
  link_call_send(&t->call, method, buf_view(&params));
  buf_done(&params);
}

// ---- sending requests

static bool is_ready(const struct watches *home) {
  return home->lane && home->lane->state == LANE_READY;
}

static void visit(struct lane_watch *t) {
  struct watches *home = t->home;
  bool by_session = is_ready(home) && !lane_stateless(home->lane) && t->kind == WATCH_RESOURCE;
  bool unasked = t->state == WATCH_IDLE || (t->state == WATCH_REFUSED && !list_empty(&t->waiting));
  if (wanted(t)) {
    if (by_session && unasked) ask(t, WATCH_ASKED, STR("resources/subscribe"));
  } else if (by_session && t->state == WATCH_AGREED) {
    ask(t, WATCH_LEAVING, STR("resources/unsubscribe"));
  } else if (!t->call.link) {
    home->shrunk |= t->state == WATCH_ASKED || t->state == WATCH_AGREED;
    watch_free(t);
  }
}

static void on_gather(struct deferred *d) {
  struct watches *home = CONTAINER_OF(d, struct watches, gather);
  watches_enter(home);
  for (struct lane_watch *t; (t = watches_next(home));) visit(t);
  if (home->lane && lane_stateless(home->lane)) listen_update(home);
  watches_leave(home);
}

void watches_gather(struct watches *home) {
  if (home->lane) loop_defer(home->loop, &home->gather);
}

// ---- events of lanes

void watches_ready(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  if (!lane->watches && !lane_stateless(lane)) return;
  struct watches *home = watches_of(lane);
  if (listen_wanted(home)) watches_gather(home);
}

// Resets watches after their link was lost, so that they are requested again on the next link.
static void forget_asked(struct list *watches) {
  LIST_EACH(it, watches) {
    struct lane_watch *t = CONTAINER_OF(it, struct lane_watch, node);
    link_call_cancel(&t->call, STR("no longer needed"));
    t->state = WATCH_IDLE;
  }
}

void watches_lost(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct watches *home = lane->watches;
  if (!home) return;
  deferred_cancel(&home->gather);
  listen_close(home);
  forget_asked(&home->list);
  forget_asked(&home->todo);
}

void watches_fail(struct lane *lane, const struct fault *f) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct watches *home = lane->watches;
  if (!home) return;
  watches_enter(home);
  for (struct lane_watch *t; (t = watches_next(home));)
    if (!list_empty(&t->waiting)) watch_settle(t, NULL, f);
  watches_leave(home);
}

static void detach(struct list *watchers) {
  for (struct list *n; (n = list_pop(watchers));) CONTAINER_OF(n, struct watcher, node)->watch = NULL;
}

void watches_free(struct lane *lane) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct watches *home = lane->watches;
  if (!home) return;
  watches_lost(lane);
  lane->watches = NULL;
  home->lane = NULL;
  watches_enter(home);
  for (struct lane_watch *t; (t = watches_next(home));) {
    detach(&t->waiting);
    detach(&t->settling);
    detach(&t->agreed);
  }
  watches_leave(home);
}

static void move_watchers(struct list *from, struct lane_watch *watch, struct list *to) {
  for (struct list *n; (n = list_pop(from));) {
    CONTAINER_OF(n, struct watcher, node)->watch = watch;
    list_push(to, n);
  }
}

void watches_move(struct lane *from, struct lane *to) {
  if (!from->watches) return;
  struct watches *home = watches_of(to);
  LIST_EACH(it, &from->watches->list) {
    struct lane_watch *t = CONTAINER_OF(it, struct lane_watch, node);
    struct lane_watch *other = map_find(&home->by_id[t->kind], t->id);
    if (!wanted(t) || (!other && !shares_free(&home->shares))) continue;
    if (!other) other = watch_new(home, t->kind, t->id, t->share->name);
    move_watchers(&t->waiting, other, &other->waiting);
    move_watchers(&t->agreed, other, &other->agreed);
  }
  watches_gather(home);
}

bool watches_receive(struct lane *lane, struct link_call **via, const struct rpc_message *m) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  return lane->watches && listen_receive(lane->watches, via, m);
}

// ---- public interface

static struct lane_watch *watch_for(struct lane *lane, enum watch_kind kind, str id, str payer, struct fault *f) {
  struct watches *home = watches_of(lane);
  struct lane_watch *t = map_find(&home->by_id[kind], id);
  if (lane->state != LANE_READY) {
    fault_set(f, FAULT_UPSTREAM_UNAVAILABLE, "is not connected");
    return NULL;
  }
  if (kind == WATCH_TASK && !lane_stateless(lane)) {
    fault_set(f, FAULT_UPSTREAM_ERROR, "does not accept subscriptions to tasks");
    return NULL;
  }
  if (t) return t;
  bool shared = lane->owner.scope != LANE_OF_PRINCIPAL && !lane->session;
  if (shares_allow(&home->shares, shared ? payer : STR_NONE, 0)) return watch_new(home, kind, id, payer);
  fault_set(f, FAULT_LIMIT, "already has the maximum number of subscriptions (%zu)", home->shares.total);
  return NULL;
}

void watch_start(struct lane *lane, enum watch_kind kind, str id, struct watcher *w) {
  ASSERT_MAGIC(lane, LANE_MAGIC);
  struct fault f;
  list_init(&w->node);
  w->watch = watch_for(lane, kind, id, w->payer, &f);
  if (!w->watch) {
    if (w->settled) w->settled(w, NULL, &f);
  } else if (w->watch->state == WATCH_AGREED) {
    list_push(&w->watch->agreed, &w->node);
    if (w->settled) w->settled(w, NULL, NULL);
  } else {
    list_push(&w->watch->waiting, &w->node);
    watches_gather(w->watch->home);
  }
}

void watch_stop(struct watcher *w) {
  struct lane_watch *t = w->watch;
  if (!t) return;
  w->watch = NULL;
  list_remove(&w->node);
  if (!wanted(t)) watches_gather(t->home);
}

struct lane *watch_lane(const struct watcher *w) {
  return w->watch ? w->watch->home->lane : NULL;
}
