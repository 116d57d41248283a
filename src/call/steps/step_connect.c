// SPDX-License-Identifier: Apache-2.0
// The caller's connection to the upstream: ready, or waited for while it starts.
#include "call/steps/step_connect.h"
#include "base/assert.h"
#include "call/bridge/park.h"
#include "call/steps/step_dispatch.h"
#include "call/steps/step_retry.h"

struct connect_state {
  struct call *call;  // NULL: it never waited
  struct lane_waiter waiter;
  struct timer timer;
};

static void cancel(struct call *c, void *state) {
  struct connect_state *s = state;
  if (!s->call) return;
  lane_unwait(&s->waiter);
  timer_stop(&s->timer);
}

// It takes longer to start, or to be installed, than a call may take.
static void on_late(struct timer *t) {
  struct connect_state *s = CONTAINER_OF(t, struct connect_state, timer);
  struct call *c = s->call;
  struct lane_user who = call_user(c);
  struct fault f;
  cancel(c, s);
  turn_leave(&c->turn);
  upstreams_why(c->context->upstreams, c->routes[c->route].source, &who, &f);
  if (!call_try_next(c) && !call_retry(c, &f)) call_fault(c, &f);
}

static void on_lane(struct lane_waiter *w, const struct fault *f) {
  struct connect_state *s = CONTAINER_OF(w, struct connect_state, waiter);
  struct call *c = s->call;
  timer_stop(&s->timer);
  c->lane = w->lane;  // not always the one that was waited for
  if (!f) turn_hold(&c->turn, c->lane);
  if (!f) call_resume(c);
  else if (f->again) call_restart(c, &step_connect);
  else if (!call_try_next(c) && !call_retry(c, f)) call_fault(c, f);
}

struct lane_user call_user(const struct call *c) {
  return (struct lane_user){c->owner, c->caller.id};
}

static enum call_result run(struct call *c, void *state) {
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
  struct connect_state *s = state;
  ASSERT(!s->call || !timer_running(&s->timer));
  s->call = c;
  s->waiter = (struct lane_waiter){.go = on_lane};
  list_init(&s->waiter.node);
  timer_init(&s->timer, on_late);
  timer_start(c->context->loop, &s->timer, call_timeout(c));
  lane_await(c->lane, &s->waiter);
  return CALL_WAIT;
}

const struct call_step step_connect = {
    .name = "connect",
    .does = "The connection to the server, opened if need be.",
    .state = sizeof(struct connect_state),
    .run = run,
    .cancel = cancel,
};
