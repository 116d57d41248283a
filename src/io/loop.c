// SPDX-License-Identifier: Apache-2.0
#include "io/loop.h"

#include "base/assert.h"
#include "base/mem.h"

// Runs just before the loop waits: whoever is called back after the wait is the first to read the clock again.
static void on_turn(uv_prepare_t *turn) {
  struct loop *l = CONTAINER_OF(turn, struct loop, turn);
  for (struct list *n; (n = list_pop(&l->deferred));) {
    struct deferred *d = CONTAINER_OF(n, struct deferred, node);
    d->run(d);
  }
  l->now_known = false;
}

void deferred_init(struct deferred *d, void (*run)(struct deferred *)) {
  list_init(&d->node);
  d->run = run;
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
  list_init(&l->deferred);
  list_init(&l->chores);
  bulk_init(&l->bulk, l);
  uv_timer_init(&l->uv, &l->tick);
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
