// SPDX-License-Identifier: Apache-2.0
// Writes data in batches on libuv's thread pool, because a disk may be slow. Only one batch is written at a time; data
// added during a write goes into the next batch. During a burst, data is gathered for gather_ms. A failed write is
// repeated, even if no new data is pending. The owner keeps the data; struct batches only decides when to write it.
#pragma once
#include "io/loop.h"

struct batches_ops {
  bool (*take)(void *ctx);    // moves pending data to a batch; false: there is nothing to write now
  void (*write)(void *ctx);   // writes the batch; called on another thread
  void (*settle)(void *ctx);  // handles the result of `write`
  // Returns whether the last write failed, and sets *after_ms to the time until the write must be repeated.
  bool (*failing)(void *ctx, uint64_t *after_ms);
  void (*written)(void *ctx);  // called after `settle`, unless batches_close was called; may be NULL
  void (*dispose)(void *ctx);  // frees ctx, which contains the struct batches
};

struct batches {
  struct loop *loop;
  const struct batches_ops *ops;
  void *ctx;
  struct deferred due;
  struct timer later;
  uint64_t gather_ms;
  uint64_t written_at;  // loop time
  uv_work_t work;
  bool writing, closed;
};

// With a longer gather_ms, more data is written at once, which costs less, and data waits longer for the disk.
void batches_init(struct batches *b, struct loop *loop, uint64_t gather_ms, const struct batches_ops *ops, void *ctx);

void batches_due(struct batches *b);  // must be called when new data is pending; writes the data soon
void batches_now(struct batches *b);  // writes pending data now, unless a batch is being written

// Calls `dispose` at once or, if a batch is being written, after that write. The loop must run until then.
void batches_close(struct batches *b);
