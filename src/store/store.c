// SPDX-License-Identifier: Apache-2.0
// The life of the store, and the loop's side of what is written.
#include "base/assert.h"
#include "base/mem.h"
#include "store/store_impl.h"

enum { MAGIC = 0x73746f72, LAZY_MAX = 1024, STACK_BYTES = 256 << 10 };

const struct store_limits store_default_limits = {
    .piece_bytes = UINT64_C(1) << 30,
    .piece_owner_bytes = 512 << 20,
    .piece_count = 4096,
    .piece_ms = 24 * 3600 * 1000,
    .memory_bytes = 256 << 20,
    .archive_bytes = UINT64_C(1) << 30,
    .archive_ms = UINT64_C(30) * 24 * 3600 * 1000,
};

int64_t store_now(const struct store *s) {
  return clock_wall_ms(s->opt.clock);
}

// ---- waiting

void store_wait_init(struct store_wait *w, void (*done)(struct store_wait *w, enum store_kept kept)) {
  list_init(&w->node);
  w->done = done;
}

bool store_waiting(const struct store_wait *w) {
  return !list_empty(&w->node);
}

void store_wait_cancel(struct store_wait *w) {
  list_remove(&w->node);
}

void job_init(struct job *j, const struct job_ops *ops) {
  *j = (struct job){.ops = ops};
  list_init(&j->node);
  list_init(&j->waits);
}

static void finish(struct job *j) {
  enum store_kept kept = j->kept;
  struct list *waits = list_pop(&j->waits);
  j->ops->free(j);
  if (!waits) return;
  struct store_wait *w = CONTAINER_OF(waits, struct store_wait, node);
  w->done(w, kept);
}

// ---- ordering

static void start_writer(struct store *s) {
  uv_thread_options_t opt = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES};
  ASSERT(uv_thread_create_ex(&s->thread, &opt, writer_run, s) == 0);
  s->running = true;
}

static void order_here(struct store *s, struct job *j) {
  struct list jobs;
  list_init(&jobs);
  list_push(&jobs, &j->node);
  writer_write(s, &jobs);
  list_remove(&j->node);
  finish(j);
}

// True: it was taken. What is lazy is left out when too much of it waits.
static bool enqueue(struct store *s, struct job *j) {
  uv_mutex_lock(&s->lock);
  ASSERT(!s->closing || j->lazy);
  bool taken = !j->lazy || (!s->closing && s->queued - s->urgent < LAZY_MAX);
  if (taken) {
    list_push(&s->queue, &j->node);
    s->queued++;
    if (!j->lazy) s->urgent++;
    if (!s->running) start_writer(s);
    uv_cond_signal(&s->wake);
  }
  uv_mutex_unlock(&s->lock);
  return taken;
}

void store_order(struct store *s, struct job *j, struct store_wait *w) {
  ASSERT_MAGIC(s, MAGIC);
  j->now = store_now(s);
  if (w) list_push(&j->waits, &w->node);
  if (!s->opt.loop) order_here(s, j);
  else if (!enqueue(s, j)) j->ops->free(j);
}

// ---- tidying: opening does it

static enum job_result apply_nothing(struct job *j, struct shelf *sh, struct fault *f) {
  return JOB_OK;
}

static void free_plain(struct job *j) {
  mem_free(j);
}

void store_tidy(struct store *s) {
  static const struct job_ops ops = {.apply = apply_nothing, .free = free_plain};
  if (!shelf_exists(&s->disk)) return;
  struct job *j = MEM_NEW(struct job);
  job_init(j, &ops);
  j->lazy = true;
  store_order(s, j, NULL);
}

// ---- life

static void dispose(struct store *s) {
  void (*closed)(void *ctx) = s->closed;
  void *ctx = s->ctx;
  shelf_done(&s->disk);
  shelf_done(&s->memory);
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

static struct job *take_finished(struct store *s, bool *out_ended) {
  uv_mutex_lock(&s->lock);
  struct list *n = list_pop(&s->finished);
  *out_ended = s->ended;
  uv_mutex_unlock(&s->lock);
  return n ? CONTAINER_OF(n, struct job, node) : NULL;
}

static void on_finished(uv_async_t *async) {
  struct store *s = CONTAINER_OF(async, struct store, async);
  bool ended;
  for (struct job *j; (j = take_finished(s, &ended));) finish(j);
  if (!ended) return;
  uv_thread_join(&s->thread);
  uv_close((uv_handle_t *)&s->async, on_async_closed);
}

static str keep_path(str path) {
  if (!path.n) return STR_NONE;
  char *copy = mem_alloc(path.n + 1);
  memcpy(copy, path.p, path.n);
  copy[path.n] = 0;
  return (str){copy, path.n};
}

static uint64_t at_most(uint64_t v, uint64_t most) {
  return v < most ? v : most;
}

struct store *store_new(const struct store_options *opt) {
  struct store *s = MEM_NEW(struct store);
  s->magic = MAGIC;
  s->opt = *opt;
  s->opt.folder = keep_path(opt->folder);
  struct store_limits *l = &s->opt.limits;
  if (!opt->folder.n) l->piece_bytes = at_most(l->piece_bytes, l->memory_bytes);
  l->piece_owner_bytes = at_most(l->piece_owner_bytes, l->piece_bytes);
  uv_mutex_init(&s->lock);
  uv_cond_init(&s->wake);
  list_init(&s->queue);
  list_init(&s->finished);
  shelf_init(&s->disk, s, true);
  shelf_init(&s->memory, s, false);
  if (opt->loop) ASSERT(uv_async_init(&opt->loop->uv, &s->async, on_finished) == 0);
  return s;
}

void store_close(struct store **store, void (*closed)(void *ctx), void *ctx) {
  struct store *s = *store;
  *store = NULL;
  ASSERT_MAGIC(s, MAGIC);
  s->closed = closed;
  s->ctx = ctx;
  shelf_close_reader(&s->disk);  // before the writer's, which thus is the last and tidies up
  uv_mutex_lock(&s->lock);
  s->closing = true;
  uv_cond_signal(&s->wake);
  bool running = s->running;
  uv_mutex_unlock(&s->lock);
  if (running) return;
  shelf_close(&s->disk);
  shelf_close(&s->memory);
  if (s->opt.loop) uv_close((uv_handle_t *)&s->async, on_async_closed);
  else dispose(s);
}
