// SPDX-License-Identifier: Apache-2.0
// The call's turn on its connection. Those who have a credential take turns by it, whatever agents they say they are;
// then, on a connection that several agents share, each of these has its line, and on an agent's own each session.
#include "call/bridge.h"

static struct turn_caller caller_of(const struct call *c) {
  bool shared = c->lane->owner.scope == LANE_OF_ALL && !c->lane->session;
  str name = shared && c->caller.id.n ? c->caller.id : str_of(c->session->id);
  return (struct turn_caller){session_principal(c->session), name};
}

static enum call_result no_turn(struct call *c, const struct fault *f) {
  if (call_try_next(c)) return CALL_DONE;
  return call_retry(c, f) ? CALL_WAIT : call_fault(c, f);
}

static void on_turn(struct turn *t, const struct fault *f) {
  struct call *c = CONTAINER_OF(t, struct call, turn);
  timer_stop(&c->settle);
  if (f) no_turn(c, f);
  else call_resume(c);
}

static void on_late(struct timer *timer) {
  struct call *c = CONTAINER_OF(timer, struct call, settle);
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "has %u calls under way, and this one had no turn in time", c->lane->busy);
  f.undone = true;
  turn_leave(&c->turn);
  no_turn(c, &f);
}

enum call_result step_turn(struct call *c) {
  struct fault f;
  if (c->method->local) return CALL_NEXT;
  struct turn_caller who = caller_of(c);
  c->turn.go = on_turn;
  switch (turn_take(&c->turn, &who, &f)) {
  case TURN_RUNS: return CALL_NEXT;
  case TURN_WAITS: break;
  default: return no_turn(c, &f);
  }
  c->settle.fire = on_late;
  timer_start(c->context->loop, &c->settle, upstreams_timeout(c->context->upstreams, lane_index(c->lane)));
  return CALL_WAIT;
}
