// SPDX-License-Identifier: Apache-2.0
// Cheap deadlines: any number of timers on one libuv timer, O(1) to start and stop, freed with their owner.
// They fire late by at most TIMER_TICK_MS, never early: for timeouts, not for measuring. Timers with the same
// deadline fire in the order they were started. A timer that fires has stopped; its function may start and stop any
// timer.
#pragma once
#include <stdint.h>

#include "base/list.h"

enum { TIMER_TICK_MS = 10 };

struct loop;

struct timer {
  struct list node;
  struct loop *loop;  // of the last start
  uint64_t at;        // loop time, ms
  const char *name;   // "FILE:FUNCTION", for the loop's watchdog
  void (*fire)(struct timer *t);
};

#define timer_init(t, fire) timer_init_named((t), (fire), __FILE_NAME__ ":" #fire)
void timer_init_named(struct timer *t, void (*fire)(struct timer *), const char *name);
void timer_start(struct loop *l, struct timer *t, uint64_t after_ms);  // restarts a running timer
void timer_stop(struct timer *t);                                      // no effect on a timer that does not run
static inline bool timer_running(const struct timer *t) {
  return !list_empty(&t->node);
}

// Fires the due timers. The loop does this by itself; a test that moves its own clock calls it afterwards.
void timer_run_due(struct loop *l);
