// SPDX-License-Identifier: Apache-2.0
#include "io/loop.h"

#include "base/assert.h"
#include "base/mem.h"

const char *const loop_work_names[LOOP_WORKS] = {
    [LOOP_OTHER] = "other", [LOOP_ACCEPT] = "accept", [LOOP_READ] = "read",         [LOOP_REQUEST] = "request",
    [LOOP_REPLY] = "reply", [LOOP_LINE] = "line",     [LOOP_WRITE] = "write",       [LOOP_CONNECT] = "connect",
    [LOOP_CHILD] = "child", [LOOP_TIMER] = "timer",   [LOOP_DEFERRED] = "deferred", [LOOP_JOB] = "job",
    [LOOP_STORE] = "store", [LOOP_FILES] = "files",   [LOOP_SIGNAL] = "signal",     [LOOP_CATALOG] = "catalog",
    [LOOP_INDEX] = "index",
};

// Returns the counter for slow callbacks of this name. Once LOOP_SLOW_NAMES names have counters, a callback with a new
// name is counted under its kind of work.
static struct loop_slow *find_slow(struct loop *l, enum loop_work work, const char *name) {
  if (!*name) return &l->slow[work];
  for (size_t i = LOOP_WORKS; i < l->slow_count; i++)
    if (l->slow[i].work == work && strcmp(l->slow[i].name, name) == 0) return &l->slow[i];
  if (l->slow_count == LOOP_WORKS + LOOP_SLOW_NAMES) return &l->slow[work];
  l->slow[l->slow_count] = (struct loop_slow){.work = work, .name = name};
  return &l->slow[l->slow_count++];
}

void loop_end(struct loop *l, enum loop_work work, const char *name) {
  ASSERT(work < LOOP_WORKS && l->work < LOOP_WORKS);
  uint64_t now = clock_mono_us(l->clock), ms = (now - l->busy_us) / 1000;
  if (l->work != LOOP_OTHER) work = l->work;
  l->work = LOOP_OTHER;
  l->busy_us = now;
  if (ms <= LOOP_SLOW_MS) return;
  struct loop_slow *slow = find_slow(l, work, name);
  slow->count++;
  slow->ms += ms;
  if (ms > l->slow_max_ms) l->slow_max_ms = ms;
  if (l->log)
    log_debug(l->log, "a callback held the loop for %u ms: %s%s%s", (unsigned)ms, loop_work_names[work],
              *name ? " " : "", name);
}

// Runs the deferred functions just before the loop waits, and marks the cached time as stale.
static void on_turn(uv_prepare_t *turn) {
  struct loop *l = CONTAINER_OF(turn, struct loop, turn);
  if (l->busy) loop_end(l, LOOP_OTHER, "");
  for (struct list *n; (n = list_pop(&l->deferred));) {
    struct deferred *d = CONTAINER_OF(n, struct deferred, node);
    const char *name = d->name;  // kept here, because d->run may free d
    loop_begin(l);
    d->run(d);
    loop_end(l, LOOP_DEFERRED, name);
  }
  l->busy = false;
  l->now_known = false;
}

static void on_trim(uv_timer_t *t) {
  struct loop *l = CONTAINER_OF(t, struct loop, trim);
  loop_begin(l);
  l->freed = 0;
  mem_trim();
  loop_end(l, LOOP_TIMER, LOOP_CALLBACK(on_trim));
}

void loop_freed(struct loop *l, size_t bytes) {
  enum { WORTH_IT = 8 << 20, AFTER_MS = 500 };
  l->freed += bytes;
  if (l->freed >= WORTH_IT && !uv_is_active((uv_handle_t *)&l->trim)) uv_timer_start(&l->trim, on_trim, AFTER_MS, 0);
}

void deferred_init_named(struct deferred *d, void (*run)(struct deferred *), const char *name) {
  ASSERT(run && name);
  list_init(&d->node);
  d->run = run;
  d->name = name;
}

void loop_defer(struct loop *l, struct deferred *d) {
  if (list_empty(&d->node)) list_push(&l->deferred, &d->node);
}

void deferred_cancel(struct deferred *d) {
  list_remove(&d->node);
}

void loop_init(struct loop *l, const struct log *log, const struct clock *clock, const struct rand_source *rand) {
  *l = (struct loop){.clock = clock, .rand = rand, .log = log};
  ASSERT(uv_loop_init(&l->uv) == 0);
  l->seed = rand_hash_key(rand);
  l->read_buffer = mem_alloc(LOOP_READ_SIZE);
  buf_init(&l->plain, 2 * LOOP_READ_SIZE);
  buf_init(&l->wire, 2 * LOOP_READ_SIZE);
  for (size_t i = 0; i < LOOP_TIMER_SLOTS; i++) list_init(&l->slots[i]);
  for (int i = 0; i < LOOP_WORKS; i++) l->slow[i] = (struct loop_slow){.work = (enum loop_work)i, .name = ""};
  l->slow_count = LOOP_WORKS;
  list_init(&l->deferred);
  list_init(&l->jobs);
  bulk_init(&l->bulk, l);
  uv_timer_init(&l->uv, &l->tick);
  uv_timer_init(&l->uv, &l->trim);
  uv_unref((uv_handle_t *)&l->trim);
  uv_prepare_init(&l->uv, &l->turn);
  uv_prepare_start(&l->turn, on_turn);
  uv_unref((uv_handle_t *)&l->turn);
}

void loop_run(struct loop *l) {
  uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_done(struct loop *l) {
  bulk_done(&l->bulk);
  ASSERT(l->timers == 0);
  uv_close((uv_handle_t *)&l->tick, NULL);
  uv_close((uv_handle_t *)&l->trim, NULL);
  uv_close((uv_handle_t *)&l->turn, NULL);
  uv_run(&l->uv, UV_RUN_DEFAULT);
  ASSERT(uv_loop_close(&l->uv) == 0);
  mem_free(l->read_buffer);
  l->read_buffer = NULL;
  buf_done(&l->plain);
  buf_done(&l->wire);
}

uint64_t loop_now(struct loop *l) {
  if (!l->now_known) {
    l->now = clock_mono_ms(l->clock);
    l->now_known = true;
  }
  return l->now;
}
