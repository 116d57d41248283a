// SPDX-License-Identifier: Apache-2.0
// The one who writes: takes what waits, writes it in one transaction, and hands it back.
#include "base/assert.h"
#include "store/store_impl.h"

enum {
  GROUP_MAX = 256,        // jobs of one transaction
  GROUP_BYTES = 8 << 20,  // and what they write, but for the last
  LAZY_MS = 1000,         // how long what is lazy waits for company
  CLEAN_MS = 600 * 1000,  // how often a quiet writer looks for what is too old
};

// ---- a group of jobs

static bool all_lazy(const struct list *jobs) {
  LIST_EACH(it, jobs)
    if (!CONTAINER_OF(it, struct job, node)->lazy) return false;
  return true;
}

static bool prepare_all(struct list *jobs, struct shelf *sh, struct fault *f) {
  LIST_EACH(it, jobs) {
    struct job *j = CONTAINER_OF(it, struct job, node);
    if (j->ops->prepare && !j->refused && !j->ops->prepare(j, sh, f)) return false;
  }
  return true;
}

static bool apply_all(struct list *jobs, struct shelf *sh, struct fault *f) {
  LIST_EACH(it, jobs) {
    struct job *j = CONTAINER_OF(it, struct job, node);
    enum job_result got = j->refused ? JOB_REFUSED : j->ops->apply(j, sh, f);
    if (got == JOB_FAILED) return false;
    j->kept = got == JOB_REFUSED ? STORE_LOST : STORE_KEPT;
  }
  return true;
}

static void settle_all(struct list *jobs, struct shelf *sh, bool committed) {
  LIST_EACH(it, jobs) {
    struct job *j = CONTAINER_OF(it, struct job, node);
    if (j->ops->settle) j->ops->settle(j, sh, committed);
  }
}

static uint64_t bytes_of(const struct list *jobs) {
  uint64_t bytes = 0;
  LIST_EACH(it, jobs) bytes += CONTAINER_OF(it, struct job, node)->bytes;
  return bytes;
}

static void note_failure(struct shelf *sh, const struct list *jobs, const struct fault *f) {
  shelf_fails(sh, f);
  shelf_reopen(sh);
  sh->locked = f->after_ms > 0;
  if (sh->locked) sh->again_at = store_now(sh->store) + DB_LOCKED_MS;
  else sh->refused = bytes_of(jobs);
}

static bool write_on(struct shelf *sh, struct list *jobs) {
  struct fault f;
  if (!shelf_ready(sh, store_now(sh->store))) return false;
  bool begun = prepare_all(jobs, sh, &f) && shelf_begin(sh, all_lazy(jobs), &f);
  bool committed = begun && apply_all(jobs, sh, &f) && shelf_commit(sh, &f);
  if (begun && !committed) shelf_rollback(sh);
  settle_all(jobs, sh, committed);
  if (!committed) {
    note_failure(sh, jobs, &f);
    return false;
  }
  shelf_works(sh, bytes_of(jobs));
  shelf_bury(sh);
  return true;
}

static void write_in_memory(struct store *s, struct list *jobs) {
  bool written = write_on(&s->memory, jobs);
  LIST_EACH(it, jobs) {
    struct job *j = CONTAINER_OF(it, struct job, node);
    if (!written) j->kept = STORE_LOST;
    else if (j->kept == STORE_KEPT && s->opt.folder.n) j->kept = STORE_PASSING;
  }
}

// One that cannot be written shall not take the others with it.
static void write_one_by_one(struct store *s, struct list *jobs) {
  struct list done;
  list_init(&done);
  for (struct list *n; (n = list_pop(jobs));) {
    struct list one;
    list_init(&one);
    list_push(&one, n);
    if (!write_on(&s->disk, &one)) write_in_memory(s, &one);
    list_remove(n);
    list_push(&done, n);
  }
  for (struct list *n; (n = list_pop(&done));) list_push(jobs, n);
}

void writer_write(struct store *s, struct list *jobs) {
  if (!s->opt.folder.n) write_in_memory(s, jobs);
  else if (write_on(&s->disk, jobs)) return;
  else if (s->disk.locked) write_in_memory(s, jobs);  // for the next one it would be locked as well
  else write_one_by_one(s, jobs);
}

// ---- the thread

// Until there is something to write, or to do. False: there is nothing, and never will be. What is lazy waits since the
// first of it came: another does not put it off.
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

// Not so much that the first of them waits for long.
static void take_group(struct store *s, struct list *out) {
  uint64_t bytes = 0;
  list_init(out);
  for (size_t i = 0; i < GROUP_MAX && bytes < GROUP_BYTES && s->queued; i++, s->queued--) {
    struct job *j = CONTAINER_OF(list_pop(&s->queue), struct job, node);
    if (!j->lazy) s->urgent--;
    bytes += j->bytes;
    list_push(out, &j->node);
  }
}

static void hand_back(struct store *s, struct list *jobs) {
  for (struct list *n; (n = list_pop(jobs));) list_push(&s->finished, n);
  uv_async_send(&s->async);
}

void writer_run(void *store) {
  struct store *s = store;
  struct list jobs;
  bool idle;
  uv_mutex_lock(&s->lock);
  while (await(s, &idle)) {
    take_group(s, &jobs);
    uv_mutex_unlock(&s->lock);
    if (idle) shelf_clean(&s->disk, store_now(s));
    if (idle) shelf_clean(&s->memory, store_now(s));
    if (!list_empty(&jobs)) writer_write(s, &jobs);
    uv_mutex_lock(&s->lock);
    hand_back(s, &jobs);
  }
  uv_mutex_unlock(&s->lock);
  shelf_close(&s->disk);
  shelf_close(&s->memory);
  uv_mutex_lock(&s->lock);
  s->ended = true;
  uv_async_send(&s->async);
  uv_mutex_unlock(&s->lock);
}
