// SPDX-License-Identifier: Apache-2.0
// Tests of the store: a folder of its own for each, a wall clock that the test sets, a log that it can read.
#pragma once
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/backend.h"

struct world {
  char top[64];
  char folder[96];  // the store's
  char log_path[96];
  int64_t wall;
  struct clock clock;
  struct log log;
  struct loop loop;
  struct store *store;
  const struct store_backend *backend;
};

static inline uint64_t world_mono(void *ctx) {
  return 1000;
}
static inline int64_t world_wall(void *ctx) {
  return ((struct world *)ctx)->wall;
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  return remove(path);
}

static inline int enter_with(void **state, const struct store_backend *backend) {
  struct world *x = MEM_NEW(struct world);
  x->backend = backend;
  snprintf(x->top, sizeof x->top, "/tmp/toolgate-XXXXXX");
  if (!mkdtemp(x->top)) return -1;
  snprintf(x->folder, sizeof x->folder, "%s/state", x->top);
  snprintf(x->log_path, sizeof x->log_path, "%s/log", x->top);
  x->wall = clock_wall_ms(&clock_system);
  x->clock = (struct clock){world_mono, world_wall, x};
  x->log = (struct log){open(x->log_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600), LOG_DEBUG, &x->clock};
  loop_init(&x->loop, &x->log, &x->clock, &rand_system);
  *state = x;
  return 0;
}

static inline int enter(void **state) {
  return enter_with(state, &store_sqlite);
}

static inline int enter_memory(void **state) {
  return enter_with(state, &store_memory);
}

// Does the backend keep something after the store is closed?
static inline bool lasts(const struct world *x) {
  return x->backend != &store_memory;
}

static inline struct store *open_with(struct world *x, struct store_limits limits, bool on_disk) {
  struct store_options opt = {
      .loop = &x->loop,
      .log = &x->log,
      .clock = &x->clock,
      .rand = &rand_system,
      .folder = on_disk && lasts(x) ? str_of(x->folder) : STR_NONE,
      .limits = limits,
      .backend = on_disk ? x->backend : &store_memory,
  };
  return store_new(&opt);
}

static inline void open_store(struct world *x) {
  x->store = open_with(x, store_default_limits, true);
}

static inline void on_store_closed(void *ctx) {
  *(bool *)ctx = true;
}

static inline void close_one(struct world *x, struct store **s) {
  bool closed = false;
  store_close(s, on_store_closed, &closed);
  while (!closed) uv_run(&x->loop.uv, UV_RUN_ONCE);
}

static inline void close_store(struct world *x) {
  if (x->store) close_one(x, &x->store);
}

static inline int leave(void **state) {
  struct world *x = *state;
  close_store(x);
  loop_done(&x->loop);
  close(x->log.fd);
  int failed = nftw(x->top, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  mem_free(x);
  return failed;
}

// What ends with its store is looked for in the same one.
static inline void reopen(struct world *x) {
  if (!lasts(x)) return;
  close_store(x);
  open_store(x);
}

static inline bool log_says(struct world *x, const char *text) {
  static char all[65536];
  ssize_t n = pread(x->log.fd, all, sizeof all - 1, 0);
  all[n > 0 ? n : 0] = 0;
  return strstr(all, text) != NULL;
}

// ---- waiting

struct waiter {
  struct store_wait wait;
  int told;
  enum store_kept kept;
};

static inline void on_told(struct store_wait *w, enum store_kept kept) {
  struct waiter *x = CONTAINER_OF(w, struct waiter, wait);
  x->told++;
  x->kept = kept;
}

static inline void wait_init(struct waiter *w) {
  *w = (struct waiter){.told = 0};
  store_wait_init(&w->wait, on_told);
}

static inline enum store_kept await(struct world *x, struct waiter *w) {
  while (!w->told) uv_run(&x->loop.uv, UV_RUN_ONCE);
  assert_int_equal(w->told, 1);
  assert_false(store_waiting(&w->wait));
  return w->kept;
}

static inline bool await_read(struct world *x, struct store_read *r) {
  while (!r->over) uv_run(&x->loop.uv, UV_RUN_ONCE);
  return r->ok;
}

// A test of the interface, for each backend.
#define T(name) cmocka_unit_test_setup_teardown(name, enter, leave)
#define EACH(name) \
  T(name), { \
#name "_in_memory", name, enter_memory, leave, NULL \
  }
