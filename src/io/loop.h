// SPDX-License-Identifier: Apache-2.0
// The event loop and everything that code on its thread shares: clock, randomness, log, timers, read buffer, watchdog.
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

// A function that runs once, after the callbacks of this turn of the loop and before the loop waits again. For example,
// it can send the output of several callbacks with one write.
struct deferred {
  struct list node;
  const char *name;  // "FILE:FUNCTION", for the watchdog
  void (*run)(struct deferred *d);
};

struct proxies;

// Kinds of work of callbacks. The watchdog counts and logs every callback that blocks the loop for longer than
// LOOP_SLOW_MS. It identifies a callback by its kind of work; timers, deferred functions and jobs also have names.
enum loop_work {
  LOOP_OTHER,  // work of callbacks that do not report their kind
  LOOP_ACCEPT,
  LOOP_READ,  // bytes from a connection or pipe, unless LOOP_REQUEST, LOOP_REPLY or LOOP_LINE fits better
  LOOP_REQUEST,
  LOOP_REPLY,    // a message of a server
  LOOP_LINE,     // a line from a pipe or the control socket
  LOOP_WRITE,    // queued bytes were written
  LOOP_CONNECT,  // a host name was looked up or a connection was opened
  LOOP_CHILD,    // a report about server processes
  LOOP_TIMER,
  LOOP_DEFERRED,
  LOOP_JOB,    // another thread has finished a job
  LOOP_STORE,  // results of the store
  LOOP_FILES,
  LOOP_SIGNAL,
  LOOP_CATALOG,  // after a change of the catalog or the rules, each session is checked for changes
  LOOP_INDEX,    // a directory or a search index is built
  LOOP_WORKS,
};
extern const char *const loop_work_names[LOOP_WORKS];
enum { LOOP_SLOW_MS = 5, LOOP_SLOW_NAMES = 64 };

struct loop_slow {
  enum loop_work work;
  const char *name;    // static; "" if the work has no name, or if LOOP_SLOW_NAMES other names are in use
  uint64_t count, ms;  // number of slow callbacks, and their total time in milliseconds
};

// The name of a callback function, with the source file that uses this macro: "lane.c:on_retry".
#define LOOP_CALLBACK(function) __FILE_NAME__ ":" #function

struct loop {
  uv_loop_t uv;
  const struct clock *clock;
  const struct rand_source *rand;
  const struct log *log;
  struct hash_key seed;  // for maps

  // Timers: one libuv timer drives a wheel of slots, each TIMER_TICK_MS wide.
  uv_timer_t tick;
  struct list slots[LOOP_TIMER_SLOTS];
  uint64_t wheel_at;  // number of the tick up to which the wheel has run
  uint64_t armed_at;  // number of the tick for which libuv's timer is set; 0 if it is not set
  size_t timers;

  // Runs before the loop waits: calls deferred functions, and makes the next callback read the clock.
  uv_prepare_t turn;
  uint64_t now;  // last reading of the clock, valid if now_known
  bool now_known;

  uint64_t busy_us;     // start of the current callback, if busy
  bool busy;            // a callback has run since the loop last waited
  enum loop_work work;  // set by loop_name; LOOP_OTHER if loop_name was not called
  // One counter for each kind of work, then one for each callback name.
  struct loop_slow slow[LOOP_WORKS + LOOP_SLOW_NAMES];
  size_t slow_count;
  uint64_t slow_max_ms;

  struct list deferred;
  struct list jobs;  // jobs that were started (io/job.h), in order; the first one is running
  struct bulk bulk;  // limits the memory of large messages

  uv_timer_t trim;  // returns freed memory to the system (see loop_freed)
  size_t freed;

  const struct proxies *proxies;  // proxies of outgoing connections (io/http/proxy.h); NULL if there are no proxies

  char *read_buffer;  // LOOP_READ_SIZE bytes; one read callback uses it at a time
  // Scratch buffers for one TLS call at a time: decrypted bytes (plain), encrypted bytes to send (wire).
  struct buf plain, wire;
};

void loop_init(struct loop *l, const struct log *log, const struct clock *clock, const struct rand_source *rand);
void loop_run(struct loop *l);   // runs until no handle keeps the loop alive
void loop_done(struct loop *l);  // must be called after all handles were closed

// Notes that `bytes` of large messages were freed. The allocator keeps freed memory for reuse; after some megabytes, a
// timer returns this memory to the system.
void loop_freed(struct loop *l, size_t bytes);

// Returns the time in milliseconds. Reads the clock only once for each turn of the loop.
uint64_t loop_now(struct loop *l);

// loop_begin and loop_end measure a callback. They must enclose every libuv callback that does more than close a
// handle: the time of any other callback is added to the next one. The end of one callback counts as the start of the
// next, so that the clock is read only once per callback (twice for the first of a turn). `name` is static text
// (LOOP_CALLBACK) or "".
static inline void loop_begin(struct loop *l) {
  if (!l->busy) l->busy_us = clock_mono_us(l->clock);
  l->busy = true;
  l->work = LOOP_OTHER;
}
void loop_end(struct loop *l, enum loop_work work, const char *name);

// Sets the kind of work of the current callback. This kind replaces the argument of loop_end.
static inline void loop_name(struct loop *l, enum loop_work work) {
  l->work = work;
}

#define deferred_init(d, run) deferred_init_named((d), (run), LOOP_CALLBACK(run))
void deferred_init_named(struct deferred *d, void (*run)(struct deferred *), const char *name);
void loop_defer(struct loop *l, struct deferred *d);  // no effect if d is already deferred
void deferred_cancel(struct deferred *d);             // no effect if d is not deferred
