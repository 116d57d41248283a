// SPDX-License-Identifier: Apache-2.0
// The caller's connection to the upstream: ready, or waited for while it starts.
#include "call/bridge.h"

// It takes longer to start, or to be installed, than a call may take.
static void on_late(struct timer *t) {
  struct call *c = CONTAINER_OF(t, struct call, settle);
  struct lane_user who = call_user(c);
  struct fault f;
  lane_unwait(&c->waiter);
  turn_leave(&c->turn);
  upstreams_why(c->context->upstreams, c->routes[c->route].source, &who, &f);
  if (!call_try_next(c) && !call_retry(c, &f)) call_fault(c, &f);
}

static void on_lane(struct lane_waiter *w, const struct fault *f) {
  struct call *c = CONTAINER_OF(w, struct call, waiter);
  timer_stop(&c->settle);
  c->lane = w->lane;  // not always the one that was waited for
  if (!f) turn_hold(&c->turn, c->lane);
  if (!f) call_resume(c);
  else if (f->again) call_restart(c, step_connect);
  else if (!call_try_next(c) && !call_retry(c, f)) call_fault(c, f);
}

struct lane_user call_user(const struct call *c) {
  return (struct lane_user){c->owner, c->caller.id};
}

enum call_result step_connect(struct call *c) {
  struct fault f;
  struct upstreams *u = c->context->upstreams;
  struct lane_user who = call_user(c);
  turn_leave(&c->turn);
  c->lane = upstreams_lane_for(u, c->routes[c->route].source, &who, &f);
  // A client that was asked and did not come back yet makes room for one who is here: its own, if the others have no
  // more than they may.
  if (!c->lane && park_make_room(c, f.code == FAULT_RATE_LIMITED))
    c->lane = upstreams_lane_for(u, c->routes[c->route].source, &who, &f);
  if (!c->lane) return call_retry(c, &f) ? CALL_WAIT : call_fault(c, &f);
  turn_hold(&c->turn, c->lane);
  if (c->lane->state == LANE_READY) return CALL_NEXT;
  c->waiter.go = on_lane;
  c->settle.fire = on_late;
  timer_start(c->context->loop, &c->settle, call_timeout(c));
  lane_await(c->lane, &c->waiter);
  return CALL_WAIT;
}
