// SPDX-License-Identifier: Apache-2.0
// Between the files of the store; not for backends and not for others.
#pragma once
#include "store/backend.h"

struct store {
  uint32_t magic;
  struct store_options opt;
  struct store_place *place;  // where everything belongs
  struct store_place *spare;  // what that did not take; NULL: it takes everything
  uv_async_t async;           // the writer has finished something

  uv_mutex_t lock;  // around the following
  uv_cond_t wake;
  struct list queue, finished;
  size_t urgent, queued;  // in the queue: not lazy, all
  bool running;           // there is a writer
  bool closing, ended;

  uv_thread_t thread;
  void (*closed)(void *ctx);
  void *ctx;
};

// Takes the write; on any thread when nobody waits for it.
void write_init(struct store_write *w, enum write_kind kind, void (*free)(struct store_write *w));
void store_order(struct store *s, struct store_write *w, struct store_wait *wait);

// Before a read is given to a backend. `next` gets it back from there: NULL if it is over then.
void read_begin(struct store_read *r, struct store *s, void (*next)(struct store_read *r));

void store_close_places(struct store *s);

// The thread, which gets the store; and what it does with some writes.
void writer_run(void *store);
void writer_write(struct store *s, struct list *writes);
