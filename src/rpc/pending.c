// SPDX-License-Identifier: Apache-2.0
#include "rpc/pending.h"

#include "base/assert.h"
#include "io/loop.h"

void rpc_pending_init(struct rpc_pending *p, struct loop *l) {
  *p = (struct rpc_pending){.loop = l, .next_id = 1};
  map_init(&p->waits, &l->seed);
}

void rpc_pending_done(struct rpc_pending *p) {
  ASSERT(map_count(&p->waits) == 0);
  map_done(&p->waits);
}

static str key_of(const uint64_t *id) {
  return (str){(const char *)id, sizeof *id};
}

static void on_deadline(struct timer *t) {
  struct rpc_wait *w = CONTAINER_OF(t, struct rpc_wait, timer);
  struct fault f;
  bool hard = loop_now(w->pending->loop) >= w->hard_end && w->max_ms != w->renew_ms;
  if (hard)
    fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not finish within %.3g s (timeouts.request_max)",
              (double)w->max_ms / 1000);
  else
    fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not answer within %.3g s (limit: %s)", (double)w->renew_ms / 1000,
              w->limit ? w->limit : "timeouts.request, or the server's timeout");
  rpc_wait_fail(w, &f);
}

void rpc_wait_start(struct rpc_pending *p, struct rpc_wait *w, uint64_t timeout_ms, uint64_t max_ms) {
  ASSERT(!w->pending && w->done);
  w->pending = p;
  w->id = p->next_id++;
  w->renew_ms = timeout_ms;
  w->max_ms = max_ms;
  w->limit = NULL;
  w->paused = false;
  w->hard_end = max_ms ? loop_now(p->loop) + max_ms : UINT64_MAX;
  bool added = map_add(&p->waits, key_of(&w->id), w);
  ASSERT(added);
  timer_init(&w->timer, on_deadline);
  uint64_t first = !timeout_ms || (max_ms && max_ms < timeout_ms) ? max_ms : timeout_ms;
  if (first) timer_start(p->loop, &w->timer, first);
}

void rpc_wait_stop(struct rpc_wait *w) {
  if (!w->pending) return;
  timer_stop(&w->timer);
  void *removed = map_remove(&w->pending->waits, key_of(&w->id));
  ASSERT(removed == w);
  w->pending = NULL;
}

void rpc_wait_renew(struct rpc_wait *w) {
  w->paused = false;
  if (!w->pending || !w->renew_ms) return;
  uint64_t now = loop_now(w->pending->loop), left = now < w->hard_end ? w->hard_end - now : 0;
  timer_start(w->pending->loop, &w->timer, w->renew_ms < left ? w->renew_ms : left);
}

void rpc_wait_pause(struct rpc_wait *w) {
  w->paused = true;
  if (!w->pending) return;
  uint64_t now = loop_now(w->pending->loop), left = now < w->hard_end ? w->hard_end - now : 0;
  if (w->hard_end == UINT64_MAX) timer_stop(&w->timer);
  else timer_start(w->pending->loop, &w->timer, left);
}

void rpc_wait_fail(struct rpc_wait *w, const struct fault *f) {
  ASSERT(f);
  rpc_wait_stop(w);
  w->done(w, NULL, f);
}

void rpc_pending_fail(struct rpc_pending *p, const struct fault *f) {
  // A callback may end other waits or start new ones. Only waits with ids before `end` fail: new waits must not fail.
  uint64_t end = p->next_id;
  size_t at = 0;
  const struct map_entry *table = p->waits.entries;
  for (struct rpc_wait *w; (w = map_next(&p->waits, &at));) {
    if (w->id < end) rpc_wait_fail(w, f);
    if (table == p->waits.entries) continue;
    table = p->waits.entries;  // a callback has reallocated the table, so the walk starts again
    at = 0;
  }
}

struct rpc_wait *rpc_pending_by_id(struct rpc_pending *p, uint64_t id) {
  return map_find(&p->waits, key_of(&id));
}

struct rpc_wait *rpc_pending_only(struct rpc_pending *p) {
  size_t at = 0;
  struct rpc_wait *w = map_next(&p->waits, &at);
  return w && !map_next(&p->waits, &at) ? w : NULL;
}

// Returns the waiting request with this id, or NULL. `id` is the id of a reply or the token of a progress notification.
static struct rpc_wait *find(struct rpc_pending *p, const struct json *id) {
  uint64_t v;
  if (!json_is(id, JSON_NUMBER) || !str_to_u64(json_span(id), &v)) return NULL;
  return rpc_pending_by_id(p, v);
}

bool rpc_pending_reply(struct rpc_pending *p, const struct rpc_message *reply) {
  ASSERT(reply->kind == RPC_RESULT || reply->kind == RPC_ERROR);
  struct rpc_wait *w = find(p, reply->id);
  if (!w) return false;
  rpc_wait_stop(w);
  w->done(w, reply, NULL);
  return true;
}

bool rpc_pending_malformed(struct rpc_pending *p, const struct json *value, const char *why) {
  struct fault f;
  if (!json_is(value, JSON_OBJECT) || json_get(value, STR("method"))) return false;
  struct rpc_wait *w = find(p, json_get(value, STR("id")));
  if (!w) return false;
  fault_set(&f, FAULT_UPSTREAM_ERROR, "answered with an invalid reply: %s", why);
  rpc_wait_fail(w, &f);
  return true;
}

bool rpc_pending_progress(struct rpc_pending *p, const struct rpc_message *notification) {
  struct rpc_wait *w = find(p, json_get(notification->params, STR("progressToken")));
  if (!w) return false;
  if (!w->paused) rpc_wait_renew(w);
  if (w->progress) w->progress(w, notification);
  return true;
}
