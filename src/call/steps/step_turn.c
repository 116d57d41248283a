// SPDX-License-Identifier: Apache-2.0
// The call's turn on its connection. Those who have a credential take turns by it, whatever agents they say they are;
// then, on a connection that several agents share, each of these has its line, and on an agent's own each session.
#include "call/steps/step_retry.h"

struct turn_state {
  struct call *call;  // NULL: it never waited
  struct timer timer;
};

static void cancel(struct call *c, void *state) {
  struct turn_state *s = state;
  if (s->call) timer_stop(&s->timer);
}

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
  cancel(c, call_state(c, &step_turn));
  if (f) no_turn(c, f);
  else call_resume(c);
}

static void on_late(struct timer *timer) {
  struct call *c = CONTAINER_OF(timer, struct turn_state, timer)->call;
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "has %u calls under way, and this one had no turn in time", c->lane->busy);
  f.undone = true;
  turn_leave(&c->turn);
  no_turn(c, &f);
}

static enum call_result run(struct call *c, void *state) {
  struct fault f;
  if (c->method->local) return CALL_NEXT;
  struct turn_caller who = caller_of(c);
  c->turn.go = on_turn;
  switch (turn_take(&c->turn, &who, &f)) {
  case TURN_RUNS: return CALL_NEXT;
  case TURN_WAITS: break;
  default: return no_turn(c, &f);
  }
  struct turn_state *s = state;
  s->call = c;
  timer_init(&s->timer, on_late);
  timer_start(c->context->loop, &s->timer, upstreams_timeout(c->context->upstreams, lane_index(c->lane)));
  return CALL_WAIT;
}

const struct call_step step_turn = {
    .name = "turn",
    .does = "Its turn on that connection, if many calls share it.",
    .state = sizeof(struct turn_state),
    .run = run,
    .cancel = cancel,
};
