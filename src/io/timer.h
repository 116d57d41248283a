// SPDX-License-Identifier: Apache-2.0
// Timers for deadlines. Any number of timers share one libuv timer; to start or stop a timer takes constant time. The
// owner must stop a timer before freeing it. Timers fire at most TIMER_TICK_MS late and never early: they are for
// timeouts, not for measuring. Timers with the same deadline fire in the order in which they were started. A timer
// stops before its function is called. The function may start and stop any timer, and may free its own timer.
#pragma once
#include <stdint.h>

#include "base/list.h"

enum { TIMER_TICK_MS = 10 };

struct loop;

struct timer {
  struct list node;
  struct loop *loop;  // the loop with which the timer was last started
  uint64_t at;        // deadline in loop time, in milliseconds
  const char *name;   // "FILE:FUNCTION", for the loop's watchdog
  void (*fire)(struct timer *t);
};

#define timer_init(t, fire) timer_init_named((t), (fire), __FILE_NAME__ ":" #fire)
void timer_init_named(struct timer *t, void (*fire)(struct timer *), const char *name);
void timer_start(struct loop *l, struct timer *t, uint64_t after_ms);  // restarts a running timer
void timer_stop(struct timer *t);                                      // no effect if the timer is not running
static inline bool timer_running(const struct timer *t) {
  return !list_empty(&t->node);
}

// Fires the due timers. The loop calls this itself; a test must call it after moving its clock.
void timer_run_due(struct loop *l);
