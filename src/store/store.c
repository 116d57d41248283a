// SPDX-License-Identifier: Apache-2.0
// Opens and closes the store, queues writes, and reports their results on the loop.
#include "base/assert.h"
#include "base/mem.h"
#include "store/store_impl.h"

enum { LAZY_MAX = 1024, STACK_BYTES = 256 << 10 };

const struct store_limits store_default_limits = {
    .piece_bytes = UINT64_C(1) << 30,
    .piece_owner_bytes = 512 << 20,
    .piece_count = 4096,
    .piece_ms = 24 * 3600 * 1000,
    .memory_bytes = 256 << 20,
    .archive_bytes = UINT64_C(1) << 30,
    .archive_ms = UINT64_C(30) * 24 * 3600 * 1000,
    .kind_bytes = UINT64_C(512) << 20,
};

// ---- waiting

void store_wait_init(struct store_wait *w, void (*done)(struct store_wait *w, enum store_kept kept)) {
  ASSERT(done);
  list_init(&w->node);
  w->done = done;
}

bool store_waiting(const struct store_wait *w) {
  return !list_empty(&w->node);
}

void store_wait_cancel(struct store_wait *w) {
  list_remove(&w->node);
}

static void finish(struct store_write *w) {
  ASSERT(list_empty(&w->node));
  struct list *first = list_pop(&w->waits);
  ASSERT(list_empty(&w->waits));
  if (first) {
    struct store_wait *wait = CONTAINER_OF(first, struct store_wait, node);
    bool lost = w->kept == STORE_LOST;
    wait->value = lost ? 0 : w->value;
    wait->bytes = lost ? STR_NONE : buf_view(&w->answer);
    wait->done(wait, w->kept);
  }
  w->free(w);
}

// ---- reading

void read_begin(struct store_read *r, struct store *s, void (*next)(struct store_read *r)) {
  ASSERT_MAGIC(s, STORE_MAGIC);
  r->store = s;
  r->over = r->ok = false;
  r->next = next;
}

void store_read_over(struct store_read *r, bool ok, const struct fault *f) {
  void (*next)(struct store_read * r) = r->next;
  ASSERT(!r->over && r->store);
  r->ok = ok;
  if (f) r->fault = *f;
  else if (!ok) fault_set(&r->fault, FAULT_NOT_FOUND, "not found");
  r->next = NULL;
  if (next) {
    next(r);
    return;
  }
  r->over = true;
  if (r->done) r->done(r);
}

bool store_answered(const struct store_read *r, struct fault *f) {
  ASSERT(r->over);
  if (!r->ok) *f = r->fault;
  return r->ok;
}

// ---- queueing writes

void write_init(struct store_write *w, enum write_kind kind, void (*free)(struct store_write *w)) {
  ASSERT(kind < WRITE_KINDS && free);
  *w = (struct store_write){.kind = kind, .free = free};
  list_init(&w->node);
  list_init(&w->waits);
}

// Adds a write to the queue. Returns false for a lazy write if too many lazy writes are waiting.
static bool enqueue(struct store *s, struct store_write *w) {
  uv_mutex_lock(&s->lock);
  ASSERT(!s->closing || w->lazy);
  bool taken = !w->lazy || (!s->closing && s->queued - s->urgent < LAZY_MAX);
  if (taken) {
    list_push(&s->queue, &w->node);
    s->queued++;
    if (!w->lazy) s->urgent++;
    if (!s->running) {
      uv_thread_options_t opt = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES};
      ASSERT(uv_thread_create_ex(&s->thread, &opt, writer_run, s) == 0);
      s->running = true;
    }
    uv_cond_signal(&s->wake);
  }
  uv_mutex_unlock(&s->lock);
  return taken;
}

void store_order(struct store *s, struct store_write *w, struct store_wait *wait) {
  ASSERT_MAGIC(s, STORE_MAGIC);
  ASSERT(list_empty(&w->node));
  w->now = clock_wall_ms(s->opt.clock);
  if (wait) {
    ASSERT(!w->lazy && !store_waiting(wait));  // a lazy write may be dropped without a callback
    list_push(&w->waits, &wait->node);
  }
  if (s->opt.loop) {
    if (!enqueue(s, w)) w->free(w);
    return;
  }
  struct list writes;
  list_init(&writes);
  list_push(&writes, &w->node);
  writer_write(s, &writes);
  list_remove(&w->node);
  finish(w);
}

// ---- the folder

static void free_plain(struct store_write *w) {
  mem_free(w);
}

// Queues an empty write. To execute the write, the backend opens the folder, and then removes old data.
void store_tidy(struct store *s) {
  ASSERT_MAGIC(s, STORE_MAGIC);
  const struct store_backend *b = s->place->backend;
  if (!b->exists || !b->exists(s->place)) return;
  struct store_write *w = MEM_NEW(struct store_write);
  write_init(w, WRITE_NOTHING, free_plain);
  w->lazy = true;
  store_order(s, w, NULL);
}

bool store_probe(struct store *s, struct fault *f) {
  ASSERT_MAGIC(s, STORE_MAGIC);
  return !s->place->backend->probe || s->place->backend->probe(s->place, f);
}

bool store_usable(const struct store *s, struct fault *f) {
  ASSERT_MAGIC(s, STORE_MAGIC);
  return !s->place->backend->usable || s->place->backend->usable(s->place, f);
}

int64_t place_now(const struct store_place *p) {
  return clock_wall_ms(p->opt->clock);
}

static uint64_t at_most(uint64_t v, uint64_t most) {
  return v < most ? v : most;
}

// Returns the maximum bytes of a place: `most`, but not more than memory_bytes for a place in memory.
static uint64_t limit_of(const struct store_place *p, uint64_t most) {
  return p->backend == store_backends[ROLE_PASSING] ? at_most(most, p->opt->limits.memory_bytes) : most;
}

uint64_t place_archive_limit(const struct store_place *p) {
  return limit_of(p, p->opt->limits.archive_bytes);
}

uint64_t place_piece_limit(const struct store_place *p) {
  return limit_of(p, p->opt->limits.piece_bytes);
}

uint64_t place_kind_limit(const struct store_place *p) {
  return limit_of(p, p->opt->limits.kind_bytes);
}

// ---- creation and destruction

static void dispose(struct store *s) {
  void (*closed)(void *ctx) = s->closed;
  void *ctx = s->ctx;
  ASSERT(s->closing && s->queued == 0 && list_empty(&s->queue) && list_empty(&s->finished));
  uv_cond_destroy(&s->wake);
  uv_mutex_destroy(&s->lock);
  s->magic = 0;
  mem_free((char *)s->opt.folder.p);
  mem_free(s);
  if (closed) closed(ctx);
}

static void on_async_closed(uv_handle_t *h) {
  dispose(CONTAINER_OF(h, struct store, async));
}

static void on_finished(uv_async_t *async) {
  struct store *s = CONTAINER_OF(async, struct store, async);
  ASSERT_MAGIC(s, STORE_MAGIC);
  loop_begin(s->opt.loop);
  uv_mutex_lock(&s->lock);
  for (struct list *n; (n = list_pop(&s->finished));) {
    uv_mutex_unlock(&s->lock);
    finish(CONTAINER_OF(n, struct store_write, node));
    uv_mutex_lock(&s->lock);
  }
  bool ended = s->ended;
  uv_mutex_unlock(&s->lock);
  loop_end(s->opt.loop, LOOP_STORE, "");
  if (!ended) return;
  uv_thread_join(&s->thread);
  uv_close((uv_handle_t *)&s->async, on_async_closed);
}

struct store *store_new(const struct store_options *opt) {
  ASSERT(opt->clock && opt->rand);
  struct store *s = MEM_NEW(struct store);
  s->magic = STORE_MAGIC;
  s->opt = *opt;
  s->opt.folder = STR_NONE;
  if (opt->folder.n) {
    char *copy = mem_zero(opt->folder.n + 1);
    memcpy(copy, opt->folder.p, opt->folder.n);
    s->opt.folder = (str){copy, opt->folder.n};
  }
  struct store_limits *l = &s->opt.limits;
  const struct store_backend *spare = store_backends[ROLE_PASSING], *b = opt->backend;
  if (!opt->folder.n) b = spare;
  if (!b) b = store_backends[ROLE_LASTING];
  ASSERT(spare && b);
  if (b == spare) l->piece_bytes = at_most(l->piece_bytes, l->memory_bytes);
  l->piece_owner_bytes = at_most(l->piece_owner_bytes, l->piece_bytes);
  uv_mutex_init(&s->lock);
  uv_cond_init(&s->wake);
  list_init(&s->queue);
  list_init(&s->finished);
  s->place = b->open(&s->opt, false);
  if (b != spare) s->spare = spare->open(&s->opt, true);
  if (opt->loop) ASSERT(uv_async_init(&opt->loop->uv, &s->async, on_finished) == 0);
  return s;
}

void store_close_places(struct store *s) {
  s->place->backend->close(s->place);
  if (s->spare) s->spare->backend->close(s->spare);
}

void store_close(struct store **store, void (*closed)(void *ctx), void *ctx) {
  struct store *s = *store;
  *store = NULL;
  ASSERT_MAGIC(s, STORE_MAGIC);
  ASSERT(!s->closing);
  s->closed = closed;
  s->ctx = ctx;
  uv_mutex_lock(&s->lock);
  s->closing = true;
  uv_cond_signal(&s->wake);
  bool running = s->running;
  uv_mutex_unlock(&s->lock);
  if (running) return;
  store_close_places(s);
  if (s->opt.loop) uv_close((uv_handle_t *)&s->async, on_async_closed);
  else dispose(s);
}
