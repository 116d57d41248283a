// SPDX-License-Identifier: Apache-2.0
#include "io/stream/bulk.h"

#include "base/assert.h"
#include "io/loop.h"

static struct bulk_hold *hold_at(struct list *node) {
  return CONTAINER_OF(node, struct bulk_hold, node);
}

// Returns the oldest message that is still being read: its reader may continue even above the limit. Returns NULL if a
// complete large message is in memory: all reading must then wait until that memory is freed.
static struct bulk_hold *find_first(const struct bulk *b) {
  struct bulk_hold *first = NULL;
  LIST_EACH(it, &b->holds) {
    struct bulk_hold *h = hold_at(it);
    if (!h->flow && h->bytes >= BULK_LEAST) return NULL;
    if (!first && h->flow) first = h;
  }
  return first;
}

static void set_stopped(struct bulk_hold *h, bool stopped) {
  ASSERT(!h->stopped || h->bulk->stopped > 0);
  h->bulk->stopped += (size_t)stopped - (size_t)h->stopped;
  h->stopped = stopped;
}

static void watch(struct bulk *b) {
  b->watched = find_first(b);
  b->watched_bytes = b->watched ? b->watched->bytes : 0;
  timer_start(b->loop, &b->stall, BULK_STALL_MS);
}

// Returns the oldest message that a peer has left unread for at least `ms`, or NULL.
static struct bulk_hold *find_unread(const struct bulk *b, uint64_t ms) {
  LIST_EACH(it, &b->holds)
    if (hold_at(it)->unread && hold_at(it)->since + ms <= loop_now(b->loop)) return hold_at(it);
  return NULL;
}

// Drops messages that peers do not read, the oldest first, until the rest fits the limit or only one is left. Runs from
// a timer, because give_up closes connections that calling functions may still use.
static void on_shed(struct timer *t) {
  struct bulk *b = CONTAINER_OF(t, struct bulk, shed);
  for (struct bulk_hold *h; b->unread > b->limit && (h = find_unread(b, 0)) && h->bytes < b->unread;) h->give_up(h);
}

static void on_stall(struct timer *t) {
  struct bulk *b = CONTAINER_OF(t, struct bulk, stall);
  if (!b->stopped) return;
  for (struct bulk_hold *h; (h = find_unread(b, BULK_STALL_MS));) h->give_up(h);
  struct bulk_hold *first = find_first(b);
  bool stalled = first && first == b->watched && first->bytes == b->watched_bytes;
  watch(b);
  if (stalled) first->give_up(first);
}

void bulk_init(struct bulk *b, struct loop *l) {
  *b = (struct bulk){.loop = l, .limit = BULK_LIMIT};
  list_init(&b->holds);
  timer_init(&b->stall, on_stall);
  timer_init(&b->shed, on_shed);
}

void bulk_done(struct bulk *b) {
  ASSERT(list_empty(&b->holds) && b->used == 0);
  timer_stop(&b->stall);
  timer_stop(&b->shed);
}

void bulk_hold_init(struct bulk_hold *h, struct bulk *b, void (*flow)(struct bulk_hold *h, bool go),
                    void (*give_up)(struct bulk_hold *h)) {
  *h = (struct bulk_hold){.bulk = b, .flow = flow, .give_up = give_up};
  list_init(&h->node);
}

static void stop(struct bulk *b, struct bulk_hold *h) {
  ASSERT(h->flow && !h->stopped);
  set_stopped(h, true);
  if (!timer_running(&b->stall)) watch(b);
  h->flow(h, false);
}

// Resumes all stopped readers if the total is below the limit, otherwise only the oldest reader.
static void resume(struct bulk *b) {
  const struct bulk_hold *first = b->stopped ? find_first(b) : NULL;
  LIST_EACH(it, &b->holds) {
    struct bulk_hold *h = hold_at(it);
    if (!b->stopped) break;
    if (!h->stopped || (b->used > b->limit && h != first)) continue;
    set_stopped(h, false);
    h->flow(h, true);
  }
  if (!b->stopped) timer_stop(&b->stall);
}

void bulk_count(struct bulk_hold *h, size_t bytes) {
  struct bulk *b = h->bulk;
  size_t before = h->bytes;
  ASSERT(b->used >= before && b->unread <= b->used);
  h->bytes = bytes < BULK_LEAST && !h->unread ? 0 : bytes;
  b->used = b->used - before + h->bytes;
  if (h->unread) b->unread = b->unread - before + h->bytes;
  if (before > h->bytes) loop_freed(b->loop, before - h->bytes);
  if (!h->bytes) list_remove(&h->node), set_stopped(h, false);
  if (h->bytes < before) resume(b);
  if (!h->bytes) return;
  if (list_empty(&h->node)) {
    list_push(&b->holds, &h->node);
    h->since = loop_now(b->loop);
  }
  if (b->unread > b->limit && !timer_running(&b->shed)) timer_start(b->loop, &b->shed, 0);
  bool over = b->used > b->limit && h->bytes > before;
  if (over && h->flow && !h->stopped && find_first(b) != h) stop(b, h);
}
