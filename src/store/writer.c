// SPDX-License-Identifier: Apache-2.0
// The writer thread: takes waiting writes, executes them in one transaction, and returns them to the event loop.
#include "base/assert.h"
#include "store/store_impl.h"

enum {
  GROUP_MAX = 256,        // maximum number of writes in one transaction
  GROUP_BYTES = 8 << 20,  // writes are added to a transaction only while it has fewer bytes than this
  LAZY_MS = 1000,         // time that a lazy write waits for other writes
  CLEAN_MS = 600 * 1000,  // interval at which an idle writer removes old data
};

// ---- a group of writes

static void free_nothing(struct store_write *w) {
}

// Reads prefer the spare place, so its older version of a document must be removed after a newer version is written to
// the main place.
static void uncover(struct store *s, const struct list *writes) {
  LIST_EACH(it, writes) {
    struct store_write *w = CONTAINER_OF(it, struct store_write, node);
    if (w->kind != WRITE_DOCUMENT || w->kept != STORE_KEPT) continue;
    const struct archive_write *from = CONTAINER_OF(w, struct archive_write, write);
    struct archive_write removal = {.owner = from->owner, .name = from->name};
    struct list one;
    write_init(&removal.write, WRITE_DOCUMENT, free_nothing);
    list_init(&one);
    list_push(&one, &removal.write.node);
    s->spare->backend->write(s->spare, &one);
  }
}

static enum place_wrote write_on(struct store *s, struct list *writes) {
  enum place_wrote wrote = s->place->backend->write(s->place, writes);
  if (wrote == PLACE_WROTE && s->spare) uncover(s, writes);
  return wrote;
}

static void write_on_spare(struct store *s, struct list *writes) {
  bool written = s->spare && s->spare->backend->write(s->spare, writes) == PLACE_WROTE;
  LIST_EACH(it, writes) {
    struct store_write *w = CONTAINER_OF(it, struct store_write, node);
    if (!written) w->kept = STORE_LOST;
    else if (w->kept == STORE_KEPT) w->kept = STORE_PASSING;
  }
}

// Executes each write of a group in its own transaction, so that one failing write does not make the others fail.
static void write_one_by_one(struct store *s, struct list *writes) {
  struct list done;
  list_init(&done);
  for (struct list *n; (n = list_pop(writes));) {
    struct list one;
    list_init(&one);
    list_push(&one, n);
    if (write_on(s, &one) != PLACE_WROTE) write_on_spare(s, &one);
    list_remove(n);
    list_push(&done, n);
  }
  for (struct list *n; (n = list_pop(&done));) list_push(writes, n);
}

void writer_write(struct store *s, struct list *writes) {
  ASSERT(!list_empty(writes));
  enum place_wrote wrote = write_on(s, writes);
  if (wrote == PLACE_FAILED) write_one_by_one(s, writes);
  if (wrote == PLACE_UNAVAILABLE) write_on_spare(s, writes);
}

// ---- the thread

// Waits until there are writes or until it is time to clean. Sets *out_idle to whether it is time to clean. Returns
// false if the store is closing and the queue is empty. Lazy writes wait for a fixed time after the first of them was
// queued; later lazy writes do not extend this time.
static bool await(struct store *s, bool *out_idle) {
  uint64_t began = uv_hrtime();
  bool lazy = s->queued;
  *out_idle = false;
  while (!s->urgent && !s->closing) {
    uint64_t now = uv_hrtime(), until = began + (lazy ? LAZY_MS : CLEAN_MS) * UINT64_C(1000000);
    if (now >= until) {
      *out_idle = !lazy;
      return true;
    }
    uv_cond_timedwait(&s->wake, &s->lock, until - now);
    if (lazy || !s->queued) continue;
    lazy = true;
    began = uv_hrtime();
  }
  return s->queued || !s->closing;
}

// Takes a group of writes from the queue. The size of a group is limited, so that its first write need not wait long.
static void take_group(struct store *s, struct list *out) {
  uint64_t bytes = 0;
  list_init(out);
  for (size_t i = 0; i < GROUP_MAX && bytes < GROUP_BYTES && s->queued; i++, s->queued--) {
    struct store_write *w = CONTAINER_OF(list_pop(&s->queue), struct store_write, node);
    ASSERT(w->lazy || s->urgent > 0);
    if (!w->lazy) s->urgent--;
    bytes += w->bytes;
    list_push(out, &w->node);
  }
  ASSERT(s->urgent <= s->queued);
}

static void clean(struct store_place *p) {
  p->backend->clean(p, place_now(p));
}

void writer_run(void *store) {
  struct store *s = store;
  struct list writes;
  bool idle;
  ASSERT_MAGIC(s, STORE_MAGIC);
  uv_mutex_lock(&s->lock);
  while (await(s, &idle)) {
    take_group(s, &writes);
    uv_mutex_unlock(&s->lock);
    if (idle) clean(s->place);
    if (idle && s->spare) clean(s->spare);
    if (!list_empty(&writes)) writer_write(s, &writes);
    uv_mutex_lock(&s->lock);
    for (struct list *n; (n = list_pop(&writes));) list_push(&s->finished, n);
    uv_async_send(&s->async);
  }
  ASSERT(s->closing && list_empty(&s->queue));
  uv_mutex_unlock(&s->lock);
  store_close_places(s);
  uv_mutex_lock(&s->lock);
  s->ended = true;
  uv_async_send(&s->async);
  uv_mutex_unlock(&s->lock);
}
