// SPDX-License-Identifier: Apache-2.0
// What everything on the one loop thread shares: libuv's loop, clock, randomness, log, timers, read buffer.
#pragma once
#include <uv.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/crypto/rand.h"
#include "base/list.h"
#include "base/log.h"
#include "io/stream/bulk.h"
#include "io/timer.h"

enum { LOOP_READ_SIZE = 65536, LOOP_TIMER_SLOTS = 512 };

// Something to be done once, when the callbacks of this turn of the loop are through and before it waits again:
// e.g. writing in one go what they produced piece by piece.
struct deferred {
  struct list node;
  void (*run)(struct deferred *d);
};

struct proxies;

// The work of a callback. A callback that holds the loop for longer than LOOP_SLOW_MS is counted by it.
enum loop_work {
  LOOP_OTHER,     // callbacks that report nothing
  LOOP_READ,      // bytes of a connection or a pipe
  LOOP_TIMER,     // a timer has fired
  LOOP_DEFERRED,  // the end of a turn
  LOOP_JOB,       // a chore is done
  LOOP_CATALOG,   // a change of the catalog or of the rules is compared for each session
  LOOP_INDEX,     // a directory or a search index is built
  LOOP_WORKS,
};
extern const char *const loop_work_names[LOOP_WORKS];
enum { LOOP_SLOW_MS = 5 };

struct loop_slow {
  uint64_t count, ms;
};

struct loop {
  uv_loop_t uv;
  const struct clock *clock;
  const struct rand_source *rand;
  const struct log *log;
  struct hash_key seed;  // for maps

  // timers: a wheel of slots, each TIMER_TICK_MS wide
  uv_timer_t tick;
  struct list slots[LOOP_TIMER_SLOTS];
  uint64_t wheel_at;  // tick number the wheel has been run up to
  uint64_t armed_at;  // tick number libuv's timer will fire for, 0 when it does not run
  size_t timers;      // running

  uv_prepare_t turn;  // makes each turn read the clock anew
  uint64_t now;       // what it said, if now_known
  bool now_known;

  uint64_t busy_us;     // since when the callback runs, if busy
  bool busy;            // a callback has run since the loop waited
  enum loop_work work;  // named by loop_name; LOOP_OTHER: not named
  struct loop_slow slow[LOOP_WORKS];

  struct list deferred;
  struct list jobs;  // io/job.h: the first is being done
  struct bulk bulk;  // of large messages

  uv_timer_t trim;  // for loop_freed
  size_t freed;

  const struct proxies *proxies;  // io/http/proxy.h, for connections that are opened; NULL: none

  char *read_buffer;       // LOOP_READ_SIZE bytes, lent to one read callback at a time
  struct buf plain, wire;  // lent in the same way to TLS: what was decrypted, what is to be sent
};

void loop_init(struct loop *l, const struct log *log, const struct clock *clock, const struct rand_source *rand);
void loop_run(struct loop *l);   // until nothing is left that keeps it alive
void loop_done(struct loop *l);  // every handle must be closed

// Notes that `bytes` of large messages were freed. The allocator keeps freed memory; after some megabytes a timer
// returns it to the system.
void loop_freed(struct loop *l, size_t bytes);

// Milliseconds of the injected clock, read once for each turn of the loop.
uint64_t loop_now(struct loop *l);

// Around a callback of libuv. The end of one is the beginning of the next, so that each costs one reading of the clock,
// and the first of a turn two. Time of a callback without loop_begin is added to the next callback.
static inline void loop_begin(struct loop *l) {
  if (!l->busy) l->busy_us = clock_mono_us(l->clock);
  l->busy = true;
}
void loop_end(struct loop *l, enum loop_work work);

// Names the work of the callback that runs, in place of the kind of callback.
static inline void loop_name(struct loop *l, enum loop_work work) {
  l->work = work;
}

void deferred_init(struct deferred *d, void (*run)(struct deferred *));
void loop_defer(struct loop *l, struct deferred *d);  // fine when it is deferred already
void deferred_cancel(struct deferred *d);             // fine when it is not
