// SPDX-License-Identifier: Apache-2.0
// The event loop and everything that its one thread shares: clock, randomness, log, timers, read buffer, watchdog.
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

// A function that runs once, after the callbacks of this turn of the loop and before the loop waits again: for example
// to write in one go what they produced piece by piece.
struct deferred {
  struct list node;
  const char *name;  // "FILE:FUNCTION", for the watchdog
  void (*run)(struct deferred *d);
};

struct proxies;

// The watchdog: a callback that holds the loop for longer than LOOP_SLOW_MS is counted and logged, by its work and,
// for timers, deferred functions and jobs, by its name.
enum loop_work {
  LOOP_OTHER,     // time between callbacks that report their work
  LOOP_ACCEPT,    // a client has connected
  LOOP_READ,      // bytes of a connection or a pipe, unless one of the next three describes them better
  LOOP_REQUEST,   // an HTTP request
  LOOP_REPLY,     // a message of a server
  LOOP_LINE,      // a line from a pipe or the control socket
  LOOP_WRITE,     // queued bytes were written
  LOOP_CONNECT,   // a name was looked up or a connection opened
  LOOP_CHILD,     // news of server processes
  LOOP_TIMER,     // a timer has fired
  LOOP_DEFERRED,  // a deferred function
  LOOP_JOB,       // another thread has finished a job
  LOOP_STORE,     // results of the store
  LOOP_FILES,     // watched files have changed
  LOOP_SIGNAL,    // a signal
  LOOP_CATALOG,   // a change of the catalog or of the rules is compared for each session
  LOOP_INDEX,     // a directory or a search index is built
  LOOP_WORKS,
};
extern const char *const loop_work_names[LOOP_WORKS];
enum { LOOP_SLOW_MS = 5, LOOP_SLOW_NAMES = 64 };

struct loop_slow {
  enum loop_work work;
  const char *name;    // static; "": the work has no name, or LOOP_SLOW_NAMES others were counted before
  uint64_t count, ms;  // callbacks, and their time in total
};

// The name of a callback, where the program mentions it: "lane.c:on_retry".
#define LOOP_CALLBACK(function) __FILE_NAME__ ":" #function

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

  uv_prepare_t turn;  // makes each turn read the clock again
  uint64_t now;       // the last reading, if now_known
  bool now_known;

  uint64_t busy_us;                                     // start of the current callback, if busy
  bool busy;                                            // a callback has run since the loop waited
  enum loop_work work;                                  // set by loop_name; LOOP_OTHER: not set
  struct loop_slow slow[LOOP_WORKS + LOOP_SLOW_NAMES];  // one without a name for each work, then those with a name
  size_t slow_count;
  uint64_t slow_max_ms;

  struct list deferred;
  struct list jobs;  // io/job.h: the first is being done
  struct bulk bulk;  // of large messages

  uv_timer_t trim;  // for loop_freed
  size_t freed;

  const struct proxies *proxies;  // io/http/proxy.h, for connections that are opened; NULL: none

  char *read_buffer;       // LOOP_READ_SIZE bytes, lent to one read callback at a time
  struct buf plain, wire;  // lent in the same way to TLS: decrypted bytes, and bytes to send
};

void loop_init(struct loop *l, const struct log *log, const struct clock *clock, const struct rand_source *rand);
void loop_run(struct loop *l);   // until nothing is left that keeps it alive
void loop_done(struct loop *l);  // every handle must be closed

// Notes that `bytes` of large messages were freed. The allocator keeps freed memory; after some megabytes a timer
// returns it to the system.
void loop_freed(struct loop *l, size_t bytes);

// Milliseconds of the injected clock, read once for each turn of the loop.
uint64_t loop_now(struct loop *l);

// Enclose every callback of libuv that does more than close a handle. The end of one callback is the start of the next,
// so that each costs one clock reading, and the first of a turn two. The time of a callback without loop_begin is added
// to the next one. `name` is static text (LOOP_CALLBACK) or "".
static inline void loop_begin(struct loop *l) {
  if (!l->busy) l->busy_us = clock_mono_us(l->clock);
  l->busy = true;
  l->work = LOOP_OTHER;
}
void loop_end(struct loop *l, enum loop_work work, const char *name);

// Replaces the work that the current callback reports at its end.
static inline void loop_name(struct loop *l, enum loop_work work) {
  l->work = work;
}

#define deferred_init(d, run) deferred_init_named((d), (run), LOOP_CALLBACK(run))
void deferred_init_named(struct deferred *d, void (*run)(struct deferred *), const char *name);
void loop_defer(struct loop *l, struct deferred *d);  // no effect if it is deferred already
void deferred_cancel(struct deferred *d);             // no effect if it is not deferred
