// SPDX-License-Identifier: Apache-2.0
#include "io/batches.h"

#include "base/assert.h"

static void on_work(uv_work_t *work) {
  struct batches *b = CONTAINER_OF(work, struct batches, work);
  b->ops->write(b->ctx);
}

static void on_written(uv_work_t *work, int status) {
  struct batches *b = CONTAINER_OF(work, struct batches, work);
  struct loop *loop = b->loop;
  uint64_t after_ms;
  loop_begin(loop);
  ASSERT(b->writing);
  b->writing = false;
  b->ops->settle(b->ctx);
  if (b->closed) {
    b->ops->dispose(b->ctx);
  } else {
    if (b->ops->failing(b->ctx, &after_ms)) timer_start(loop, &b->later, after_ms);
    else if (!timer_running(&b->later)) loop_defer(loop, &b->due);
    if (b->ops->written) b->ops->written(b->ctx);
  }
  loop_end(loop, LOOP_JOB, LOOP_CALLBACK(on_written));
}

void batches_now(struct batches *b) {
  uint64_t after_ms;
  timer_stop(&b->later);
  if (b->writing) return;
  if (!b->ops->take(b->ctx)) {
    if (b->ops->failing(b->ctx, &after_ms)) timer_start(b->loop, &b->later, after_ms);
    return;
  }
  b->writing = true;
  b->written_at = loop_now(b->loop);
  ASSERT(uv_queue_work(&b->loop->uv, &b->work, on_work, on_written) == 0);
}

// Runs before the event loop waits. Writes pending data at once. If the last write began less than gather_ms
// ago, waits gather_ms first.
static void on_due(struct deferred *d) {
  struct batches *b = CONTAINER_OF(d, struct batches, due);
  bool burst = loop_now(b->loop) - b->written_at < b->gather_ms;
  if (b->writing || timer_running(&b->later)) return;
  if (burst) timer_start(b->loop, &b->later, b->gather_ms);
  else batches_now(b);
}

static void on_later(struct timer *t) {
  batches_now(CONTAINER_OF(t, struct batches, later));
}

void batches_init(struct batches *b, struct loop *loop, uint64_t gather_ms, const struct batches_ops *ops, void *ctx) {
  ASSERT(loop && ops->take && ops->write && ops->settle && ops->failing && ops->dispose);
  *b = (struct batches){.loop = loop, .ops = ops, .ctx = ctx, .gather_ms = gather_ms};
  deferred_init(&b->due, on_due);
  timer_init(&b->later, on_later);
}

void batches_due(struct batches *b) {
  ASSERT(!b->closed);
  loop_defer(b->loop, &b->due);
}

void batches_close(struct batches *b) {
  ASSERT(!b->closed);
  deferred_cancel(&b->due);
  timer_stop(&b->later);
  b->closed = true;
  if (!b->writing) b->ops->dispose(b->ctx);
}
