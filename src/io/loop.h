// SPDX-License-Identifier: Apache-2.0
// What everything on the one loop thread shares: libuv's loop, clock, randomness, log, timers, read buffer.
#pragma once
#include <uv.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/rand.h"
#include "io/bulk.h"
#include "io/timer.h"

enum { LOOP_READ_SIZE = 65536, LOOP_TIMER_SLOTS = 512 };

// Something to be done once, when the callbacks of this turn of the loop are through and before it waits again:
// e.g. writing in one go what they produced piece by piece.
struct deferred {
  struct list node;
  void (*run)(struct deferred *d);
};

struct proxies;

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

  struct list deferred;
  struct list chores;  // io/chore.h: the first is being done
  struct bulk bulk;    // of large messages

  // What is being written lies in this buffer, whose owner does not need it any more: a stream that has to keep a
  // large rest takes the memory instead of copying it. NULL: there is none.
  struct buf *surplus;

  const struct proxies *proxies;  // io/proxy.h, for connections that are opened; NULL: none

  char *read_buffer;       // LOOP_READ_SIZE bytes, lent to one read callback at a time
  struct buf plain, wire;  // lent in the same way to TLS: what was decrypted, what is to be sent
};

void loop_init(struct loop *l, const struct log *log, const struct clock *clock, const struct rand_source *rand);
void loop_run(struct loop *l);   // until nothing is left that keeps it alive
void loop_done(struct loop *l);  // every handle must be closed

// Milliseconds of the injected clock, read once for each turn of the loop.
uint64_t loop_now(struct loop *l);

void deferred_init(struct deferred *d, void (*run)(struct deferred *));
void loop_defer(struct loop *l, struct deferred *d);  // fine when it is deferred already
void deferred_cancel(struct deferred *d);             // fine when it is not
