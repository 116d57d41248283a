// SPDX-License-Identifier: Apache-2.0
// The interface between the files of the store. Backends must not include this header.
#pragma once
#include "store/backend.h"

enum { STORE_MAGIC = 0x73746f72 };

struct store {
  uint32_t magic;
  struct store_options opt;
  struct store_place *place;  // the main place: the folder, or memory if there is no folder
  struct store_place *spare;  // holds the data that `place` does not accept; NULL if `place` accepts everything
  uv_async_t async;           // signals the loop that the writer has finished writes

  uv_mutex_t lock;  // protects the following members
  uv_cond_t wake;
  struct list queue, finished;
  size_t urgent, queued;  // `queued` is the number of writes in the queue; `urgent`, of those that are not lazy
  bool running;           // whether the writer's thread exists
  bool closing, ended;

  uv_thread_t thread;
  void (*closed)(void *ctx);
  void *ctx;
};

void write_init(struct store_write *w, enum write_kind kind, void (*free)(struct store_write *w));
// Queues a write and takes ownership of it. If `wait` is NULL, any thread may call this function.
void store_order(struct store *s, struct store_write *w, struct store_wait *wait);

// Must be called before a read is passed to a backend. When the backend calls store_read_over, `next` is called to
// continue the read; if `next` is NULL, the read is over.
void read_begin(struct store_read *r, struct store *s, void (*next)(struct store_read *r));

void store_close_places(struct store *s);

// The main function of the writer's thread.
void writer_run(void *store);
// Executes a list of writes, and sets `kept` of each write.
void writer_write(struct store *s, struct list *writes);
