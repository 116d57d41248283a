// SPDX-License-Identifier: Apache-2.0
// A hashed timer wheel. The slot of a timer is the tick number of its deadline, modulo the number of slots. A timer
// that is due after more than one revolution of the wheel stays in its slot until then. libuv's timer is set to the
// next slot that is not empty. So a loop without timers never wakes up, and a loop with only distant timers wakes up
// once per revolution.
#include "io/timer.h"

#include "base/assert.h"
#include "io/loop.h"

static uint64_t tick_of(uint64_t ms) {
  return ms / TIMER_TICK_MS;
}

static struct list *slot_of(struct loop *l, uint64_t tick) {
  return &l->slots[tick % LOOP_TIMER_SLOTS];
}

static void on_tick(uv_timer_t *tick) {
  timer_run_due(CONTAINER_OF(tick, struct loop, tick));
}

static void arm(struct loop *l, uint64_t tick) {
  uint64_t now = loop_now(l), due = tick * TIMER_TICK_MS;
  uv_timer_start(&l->tick, on_tick, due > now ? due - now : 0, 0);
  l->armed_at = tick;
}

static void forget(struct timer *t) {
  struct loop *l = t->loop;
  ASSERT(l->timers > 0);
  list_remove(&t->node);
  if (--l->timers) return;
  uv_timer_stop(&l->tick);
  l->armed_at = 0;
}

void timer_init_named(struct timer *t, void (*fire)(struct timer *), const char *name) {
  ASSERT(fire);
  *t = (struct timer){.fire = fire, .name = name};
  list_init(&t->node);
}

void timer_stop(struct timer *t) {
  if (timer_running(t)) forget(t);
}

void timer_start(struct loop *l, struct timer *t, uint64_t after_ms) {
  ASSERT(t->fire);
  timer_stop(t);
  uint64_t now = loop_now(l);
  if (l->timers++ == 0) l->wheel_at = tick_of(now);  // the wheel does not turn while it is empty
  t->loop = l;
  t->at = now + after_ms;
  uint64_t tick = tick_of(t->at + TIMER_TICK_MS - 1);
  // The timers of tick wheel_at have already fired, so this timer must go to a later tick.
  if (tick <= l->wheel_at) tick = l->wheel_at + 1;
  list_push(slot_of(l, tick), &t->node);
  if (!l->armed_at || tick < l->armed_at) arm(l, tick);
}

// Fires all due timers of a slot. Takes these timers out of the slot before the first one fires, because their
// functions may start other timers.
static void run_slot(struct loop *l, uint64_t tick) {
  struct list due, *slot = slot_of(l, tick);
  list_init(&due);
  LIST_EACH(it, slot) {
    if (CONTAINER_OF(it, struct timer, node)->at > tick * TIMER_TICK_MS) continue;
    list_remove(it);
    list_push(&due, it);
  }
  while (!list_empty(&due)) {
    struct timer *t = CONTAINER_OF(due.next, struct timer, node);
    const char *name = t->name;  // kept here, because the function of the timer may free it
    forget(t);
    loop_begin(l);
    t->fire(t);
    loop_end(l, LOOP_TIMER, name);
  }
}

void timer_run_due(struct loop *l) {
  l->now_known = false;
  uint64_t until = tick_of(loop_now(l));
  while (l->timers && l->wheel_at < until) run_slot(l, ++l->wheel_at);
  if (!l->timers) return;
  uint64_t tick = l->wheel_at + 1;
  // Ends within one revolution of the wheel, because at least one slot is not empty.
  while (list_empty(slot_of(l, tick))) tick++;
  arm(l, tick);
}
