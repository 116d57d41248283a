// SPDX-License-Identifier: Apache-2.0
// io/timer and io/loop: deadlines on a wheel, and the time of a turn.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/loop.h"

static uint64_t fake_mono(void *ctx) {
  return *(uint64_t *)ctx;
}
static int64_t fake_wall(void *ctx) {
  return 0;
}

struct fixture {
  struct loop loop;
  struct clock clock;
  uint64_t now;
};

static void setup(struct fixture *x) {
  x->now = 1000000;
  x->clock = (struct clock){fake_mono, fake_wall, &x->now};
  loop_init(&x->loop, NULL, &x->clock, &rand_system);
}

static void advance(struct fixture *x, uint64_t ms) {
  x->now += ms;
  timer_run_due(&x->loop);
}

struct probe {
  struct timer timer;
  int fired;
  uint64_t at;
  struct probe **trail;  // where to write oneself down
  struct probe *stops, *starts;
  uint64_t again_ms;
};

static void fire(struct timer *t) {
  struct probe *p = CONTAINER_OF(t, struct probe, timer);
  p->fired++;
  p->at = loop_now(t->loop);
  if (p->trail) {
    while (*p->trail) p->trail++;
    *p->trail = p;
  }
  if (p->stops) timer_stop(&p->stops->timer);
  if (p->starts) timer_start(t->loop, &p->starts->timer, p->again_ms);
}

static void probe_init(struct probe *p) {
  *p = (struct probe){0};
  timer_init(&p->timer, fire);
}

static void a_timer_is_never_early_and_late_by_less_than_a_tick(void **state) {
  struct fixture x;
  setup(&x);
  x.now += 3;
  for (uint64_t ms = 0; ms < 60; ms++) {
    struct probe p;
    probe_init(&p);
    x.loop.now_known = false;
    uint64_t start = x.now;
    timer_start(&x.loop, &p.timer, ms);
    assert_true(timer_running(&p.timer));
    while (!p.fired) advance(&x, 1);
    assert_false(timer_running(&p.timer));
    assert_true(p.at >= start + ms);
    assert_true(p.at <= start + ms + TIMER_TICK_MS);
    assert_int_equal(x.loop.timers, 0);
  }
  loop_done(&x.loop);
}

static void a_timer_beyond_the_span_of_the_wheel_waits_for_its_lap(void **state) {
  struct fixture x;
  setup(&x);
  struct probe p;
  probe_init(&p);
  const uint64_t lap = (uint64_t)LOOP_TIMER_SLOTS * TIMER_TICK_MS;
  timer_start(&x.loop, &p.timer, 3 * lap + 50);
  for (int i = 0; i < 3; i++) {
    advance(&x, lap);
    assert_int_equal(p.fired, 0);
  }
  advance(&x, 40);
  assert_int_equal(p.fired, 0);
  advance(&x, 20);
  assert_int_equal(p.fired, 1);
  loop_done(&x.loop);
}

static void timers_with_one_deadline_fire_in_order_of_start_and_others_by_deadline(void **state) {
  struct fixture x;
  setup(&x);
  struct probe p[6], *trail[7] = {0};
  for (int i = 0; i < 6; i++) {
    probe_init(&p[i]);
    p[i].trail = trail;
  }
  timer_start(&x.loop, &p[0].timer, 9000);  // a later lap
  timer_start(&x.loop, &p[1].timer, 500);
  timer_start(&x.loop, &p[2].timer, 100);
  timer_start(&x.loop, &p[3].timer, 500);
  timer_start(&x.loop, &p[4].timer, 100);
  advance(&x, 50);
  timer_start(&x.loop, &p[5].timer, 450);
  advance(&x, 100000);  // all at once, long after
  struct probe *want[] = {&p[2], &p[4], &p[1], &p[3], &p[5], &p[0]};
  assert_memory_equal(trail, want, sizeof want);
  loop_done(&x.loop);
}

static void a_timer_that_fires_may_stop_its_neighbour_and_start_others(void **state) {
  struct fixture x;
  setup(&x);
  struct probe p[3];
  for (int i = 0; i < 3; i++) probe_init(&p[i]);
  p[0].stops = &p[1];
  p[0].starts = &p[0];  // itself, at once: not in this round, which would never end
  p[2].starts = &p[1];
  p[2].again_ms = 30;
  for (int i = 0; i < 3; i++) timer_start(&x.loop, &p[i].timer, 20);
  assert_int_equal(x.loop.timers, 3);
  advance(&x, 20);
  assert_int_equal(p[0].fired, 1);
  assert_int_equal(p[1].fired, 0);
  assert_int_equal(p[2].fired, 1);
  assert_int_equal(x.loop.timers, 2);
  p[0].starts = p[0].stops = NULL;
  advance(&x, 10);
  assert_int_equal(p[0].fired, 2);
  advance(&x, 20);
  assert_int_equal(p[1].fired, 1);
  assert_int_equal(x.loop.timers, 0);
  loop_done(&x.loop);
}

static void a_timer_can_be_restarted_and_stopped_twice(void **state) {
  struct fixture x;
  setup(&x);
  struct probe p;
  probe_init(&p);
  timer_stop(&p.timer);
  timer_start(&x.loop, &p.timer, 20);
  timer_start(&x.loop, &p.timer, 200);
  assert_int_equal(x.loop.timers, 1);
  advance(&x, 100);
  assert_int_equal(p.fired, 0);
  timer_stop(&p.timer);
  timer_stop(&p.timer);
  assert_int_equal(x.loop.timers, 0);
  advance(&x, 1000);
  assert_int_equal(p.fired, 0);
  loop_done(&x.loop);
}

static void a_loop_without_timers_has_nothing_to_wake_up_for(void **state) {
  struct fixture x;
  setup(&x);
  struct probe p;
  probe_init(&p);
  timer_start(&x.loop, &p.timer, 1000);
  assert_true(uv_is_active((uv_handle_t *)&x.loop.tick));
  timer_stop(&p.timer);
  assert_false(uv_is_active((uv_handle_t *)&x.loop.tick));
  assert_false(uv_loop_alive(&x.loop.uv));
  loop_run(&x.loop);  // comes back at once
  timer_start(&x.loop, &p.timer, 1000);
  advance(&x, 1010);
  assert_int_equal(p.fired, 1);
  assert_false(uv_loop_alive(&x.loop.uv));
  loop_done(&x.loop);
}

static void the_loop_fires_timers_by_itself_and_sleeps_in_between(void **state) {
  struct loop l;
  loop_init(&l, NULL, &clock_system, &rand_system);
  struct probe a, b;
  probe_init(&a);
  probe_init(&b);
  timer_start(&l, &b.timer, 60);
  timer_start(&l, &a.timer, 20);
  a.starts = &a;
  a.again_ms = 20;
  b.stops = &a;
  b.starts = NULL;
  uint64_t start = loop_now(&l);
  int turns = 0;
  while (uv_run(&l.uv, UV_RUN_ONCE)) turns++;
  assert_int_equal(b.fired, 1);
  assert_in_range(a.fired, 1, 3);
  assert_in_range(b.at - start, 60, 500);
  assert_in_range(turns, 1, 20);
  loop_done(&l);
}

static void the_time_stands_still_within_a_turn(void **state) {
  struct fixture x;
  setup(&x);
  uint64_t first = loop_now(&x.loop);
  x.now += 100;
  assert_true(loop_now(&x.loop) == first);
  uv_run(&x.loop.uv, UV_RUN_NOWAIT);
  struct probe p;
  probe_init(&p);
  timer_start(&x.loop, &p.timer, 0);  // so that the loop has a turn to take
  uv_run(&x.loop.uv, UV_RUN_NOWAIT);
  assert_true(loop_now(&x.loop) == first + 100);
  timer_stop(&p.timer);
  loop_done(&x.loop);
}

struct burden {
  struct deferred deferred;
  struct fixture *x;
  uint64_t ms;
  enum loop_work named;
};

// The counter of a work and a name; a callback that never held the loop has none.
static struct loop_slow slow_of(const struct fixture *x, enum loop_work work, const char *name) {
  for (size_t i = 0; i < x->loop.slow_count; i++)
    if (x->loop.slow[i].work == work && strcmp(x->loop.slow[i].name, name) == 0) return x->loop.slow[i];
  return (struct loop_slow){0};
}

static void carry(struct deferred *d) {
  struct burden *b = CONTAINER_OF(d, struct burden, deferred);
  if (b->named) loop_name(&b->x->loop, b->named);
  b->x->now += b->ms;
}

static void carry_out(struct fixture *x, uint64_t ms, enum loop_work named) {
  struct burden b = {.x = x, .ms = ms, .named = named};
  struct probe wakes;
  probe_init(&wakes);
  deferred_init(&b.deferred, carry);
  loop_defer(&x->loop, &b.deferred);
  timer_start(&x->loop, &wakes.timer, 60000);  // so that the loop has a turn to take
  uv_run(&x->loop.uv, UV_RUN_NOWAIT);
  timer_stop(&wakes.timer);
}

static void callbacks_that_hold_the_loop_are_counted_by_their_work(void **state) {
  struct fixture x;
  setup(&x);
  carry_out(&x, LOOP_SLOW_MS, LOOP_OTHER);
  for (size_t i = 0; i < x.loop.slow_count; i++) assert_int_equal(x.loop.slow[i].count, 0);
  carry_out(&x, 7, LOOP_OTHER);
  carry_out(&x, 9, LOOP_CATALOG);
  carry_out(&x, 0, LOOP_INDEX);
  carry_out(&x, 8, LOOP_OTHER);
  assert_int_equal(slow_of(&x, LOOP_DEFERRED, "test_timer.c:carry").count, 2);
  assert_int_equal(slow_of(&x, LOOP_DEFERRED, "test_timer.c:carry").ms, 15);
  assert_int_equal(slow_of(&x, LOOP_CATALOG, "test_timer.c:carry").count, 1);
  assert_int_equal(slow_of(&x, LOOP_CATALOG, "test_timer.c:carry").ms, 9);
  assert_int_equal(slow_of(&x, LOOP_INDEX, "test_timer.c:carry").count, 0);
  assert_int_equal(x.loop.slow_max_ms, 9);
  loop_done(&x.loop);
}

static struct fixture *held;

static void on_slow_timer(struct timer *t) {
  held->now += 12;
}

static void a_timer_that_holds_the_loop_is_counted_and_logged_by_its_name(void **state) {
  struct fixture x;
  setup(&x);
  int fds[2];
  char line[256] = {0};
  assert_int_equal(pipe(fds), 0);
  struct log log = {fds[1], LOG_DEBUG, &x.clock};
  x.loop.log = &log;
  struct timer t;
  held = &x;
  timer_init(&t, on_slow_timer);
  timer_start(&x.loop, &t, 10);
  advance(&x, 20);
  assert_int_equal(slow_of(&x, LOOP_TIMER, "test_timer.c:on_slow_timer").count, 1);
  assert_int_equal(slow_of(&x, LOOP_TIMER, "test_timer.c:on_slow_timer").ms, 12);
  assert_true(read(fds[0], line, sizeof line - 1) > 0);
  assert_non_null(strstr(line, "held the loop for 12 ms: timer test_timer.c:on_slow_timer\n"));
  assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
  close(fds[0]);
  close(fds[1]);
  loop_done(&x.loop);
}

static void callbacks_beyond_the_bound_are_counted_by_their_work_alone(void **state) {
  struct fixture x;
  setup(&x);
  static char names[LOOP_SLOW_NAMES + 2][16];
  for (int i = 0; i < LOOP_SLOW_NAMES + 2; i++) {
    snprintf(names[i], sizeof names[i], "callback %d", i);
    loop_begin(&x.loop);
    x.now += 6;
    loop_end(&x.loop, LOOP_JOB, names[i]);
  }
  assert_int_equal(x.loop.slow_count, LOOP_WORKS + LOOP_SLOW_NAMES);
  assert_int_equal(slow_of(&x, LOOP_JOB, names[LOOP_SLOW_NAMES - 1]).count, 1);
  assert_int_equal(slow_of(&x, LOOP_JOB, "").count, 2);
  loop_done(&x.loop);
}

static void the_time_that_the_loop_waits_is_not_counted(void **state) {
  struct fixture x;
  setup(&x);
  carry_out(&x, 1, LOOP_OTHER);
  x.now += 1000;
  carry_out(&x, 1, LOOP_OTHER);
  for (size_t i = 0; i < x.loop.slow_count; i++) assert_int_equal(x.loop.slow[i].count, 0);
  loop_done(&x.loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_timer_is_never_early_and_late_by_less_than_a_tick),
      cmocka_unit_test(a_timer_beyond_the_span_of_the_wheel_waits_for_its_lap),
      cmocka_unit_test(timers_with_one_deadline_fire_in_order_of_start_and_others_by_deadline),
      cmocka_unit_test(a_timer_that_fires_may_stop_its_neighbour_and_start_others),
      cmocka_unit_test(a_timer_can_be_restarted_and_stopped_twice),
      cmocka_unit_test(a_loop_without_timers_has_nothing_to_wake_up_for),
      cmocka_unit_test(the_loop_fires_timers_by_itself_and_sleeps_in_between),
      cmocka_unit_test(the_time_stands_still_within_a_turn),
      cmocka_unit_test(callbacks_that_hold_the_loop_are_counted_by_their_work),
      cmocka_unit_test(a_timer_that_holds_the_loop_is_counted_and_logged_by_its_name),
      cmocka_unit_test(callbacks_beyond_the_bound_are_counted_by_their_work_alone),
      cmocka_unit_test(the_time_that_the_loop_waits_is_not_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
