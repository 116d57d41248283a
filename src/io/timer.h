// SPDX-License-Identifier: Apache-2.0
// Cheap deadlines: any number of timers on one libuv timer, O(1) to start and stop, freed with their owner.
// They fire late by at most TIMER_TICK_MS, never early: for timeouts, not for measuring. Timers with the same
// deadline fire in the order they were started. A timer that fires has stopped; it may start and stop any timer.
#pragma once
#include <stdint.h>

#include "base/list.h"

enum { TIMER_TICK_MS = 10 };

struct loop;

struct timer {
  struct list node;
  struct loop *loop;  // the one it was last started on
  uint64_t at;        // loop time, ms
  void (*fire)(struct timer *t);
};

void timer_init(struct timer *t, void (*fire)(struct timer *));
void timer_start(struct loop *l, struct timer *t, uint64_t after_ms);  // restarts a running one
void timer_stop(struct timer *t);                                      // fine when it does not run
static inline bool timer_running(const struct timer *t) {
  return !list_empty(&t->node);
}

// Fires what is due. The loop does this by itself; a test that moves its own clock calls it afterwards.
void timer_run_due(struct loop *l);
