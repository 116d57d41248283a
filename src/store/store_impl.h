// SPDX-License-Identifier: Apache-2.0
// Declarations that only the files of the store share; not for backends.
#pragma once
#include "store/backend.h"

enum { STORE_MAGIC = 0x73746f72 };

struct store {
  uint32_t magic;
  struct store_options opt;
  struct store_place *place;  // the store's own place
  struct store_place *spare;  // keeps the data that `place` does not take; NULL: it takes everything
  uv_async_t async;           // the writer has finished writes

  uv_mutex_t lock;  // around the following
  uv_cond_t wake;
  struct list queue, finished;
  size_t urgent, queued;  // writes in the queue: not lazy; all
  bool running;           // the writer's thread exists
  bool closing, ended;

  uv_thread_t thread;
  void (*closed)(void *ctx);
  void *ctx;
};

void write_init(struct store_write *w, enum write_kind kind, void (*free)(struct store_write *w));
// Takes the write. `wait` may be NULL; then it may be called on any thread.
void store_order(struct store *s, struct store_write *w, struct store_wait *wait);

// Call it before giving a read to a backend. `next` continues the read after the backend has ended its part; NULL: it
// is over then.
void read_begin(struct store_read *r, struct store *s, void (*next)(struct store_read *r));

void store_close_places(struct store *s);

// The thread of the writer.
void writer_run(void *store);
// Writes a list and sets `kept` of each write.
void writer_write(struct store *s, struct list *writes);
