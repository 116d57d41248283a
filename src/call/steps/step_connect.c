// SPDX-License-Identifier: Apache-2.0
// Gets the caller's lane (a connection to the server), and a turn (a place among the calls in flight) on it. If the
// lane is starting, the call waits. If several calls wait for a turn, principals are served in rotation, whatever
// agents their requests name. Among the calls of one principal, the rotation is between agents on a shared lane, and
// between sessions on the lane of one agent.
#include "base/assert.h"
#include "call/bridge/parked_calls.h"
#include "call/steps/steps.h"
#include "upstream/lane/turns.h"

struct connect_state {
  struct call *call;  // NULL before the call has reached this step
  struct turn turn;
  struct lane_waiter waiter;
  struct timer timer;
};

static struct connect_state *state_of(const struct call *c) {
  return call_state(c, STEP_CONNECT);
}

const struct lane *call_held_lane(const struct call *c) {
  return state_of(c)->turn.lane;
}

void call_turn_end(struct call *c) {
  turn_end(&state_of(c)->turn);
}

struct lane_user call_user(const struct call *c) {
  return (struct lane_user){c->owner, caller_owner(&c->caller)};
}

static void cancel_connect(struct call *c, void *state, str reason) {
  struct connect_state *s = state;
  if (!s->call) return;
  lane_unwait(&s->waiter);
  timer_stop(&s->timer);
  turn_leave(&s->turn);
}

static enum call_result failed(struct call *c, const struct fault *f) {
  if (call_try_next(c)) return CALL_DONE;
  return call_retry(c, f) ? CALL_WAIT : call_fault(c, f);
}

// Called when the start or the installation of the server takes longer than the timeout of a call.
static void on_start_late(struct timer *t) {
  struct connect_state *s = CONTAINER_OF(t, struct connect_state, timer);
  struct call *c = s->call;
  struct lane_user who = call_user(c);
  struct fault f;
  cancel_connect(c, s, STR_NONE);
  upstreams_why(c->context->upstreams, c->routes[c->route].source, &who, &f);
  failed(c, &f);
}

static void on_lane(struct lane_waiter *w, const struct fault *f) {
  struct connect_state *s = CONTAINER_OF(w, struct connect_state, waiter);
  struct call *c = s->call;
  timer_stop(&s->timer);
  ASSERT(w->lane || f);
  c->lane = w->lane;  // w->lane changes if the lane that the call waited for is merged into another
  if (!f) turn_hold(&s->turn, c->lane);
  if (!f) call_resume(c);
  else if (f->again) call_restart(c, STEP_CONNECT);
  else failed(c, f);
}

static enum call_result get_lane(struct call *c, void *state) {
  struct connect_state *s = state;
  struct fault f;
  struct upstreams *u = c->context->upstreams;
  struct lane_user who = call_user(c);
  if (!s->call) {
    s->call = c;
    turn_init(&s->turn);
    s->waiter.go = on_lane;
    list_init(&s->waiter.node);
    timer_init(&s->timer, on_start_late);
  }
  ASSERT(!timer_running(&s->timer));
  turn_leave(&s->turn);
  c->lane = upstreams_lane_for(u, c->routes[c->route].source, &who, &f);
  // If no lane is available, give up a parked call to free a lane. FAULT_RATE_LIMITED means that this principal has too
  // many lanes, so the call to give up must belong to this principal.
  if (!c->lane && park_make_room(c, f.code == FAULT_RATE_LIMITED))
    c->lane = upstreams_lane_for(u, c->routes[c->route].source, &who, &f);
  if (!c->lane) return call_retry(c, &f) ? CALL_WAIT : call_fault(c, &f);
  turn_hold(&s->turn, c->lane);
  if (c->lane->state == LANE_READY) return CALL_NEXT;
  timer_start(c->context->loop, &s->timer, call_timeout(c));
  lane_await(c->lane, &s->waiter);
  return CALL_WAIT;
}

const struct call_step step_connect = {
    .name = "connect",
    .does = "Gets the caller's connection to the server, and opens it if necessary.",
    .state = sizeof(struct connect_state),
    .run = get_lane,
    .cancel = cancel_connect,
};

// ---- the turn

struct turn_state {
  struct call *call;  // NULL: the call never waited
  struct timer timer;
};

static void cancel_turn(struct call *c, void *state, str reason) {
  struct turn_state *s = state;
  if (s->call) timer_stop(&s->timer);
}

static void on_turn(struct turn *t, const struct fault *f) {
  struct call *c = CONTAINER_OF(t, struct connect_state, turn)->call;
  cancel_turn(c, call_state(c, STEP_TURN), STR_NONE);
  if (f) failed(c, f);
  else call_resume(c);
}

static void on_turn_late(struct timer *timer) {
  struct call *c = CONTAINER_OF(timer, struct turn_state, timer)->call;
  struct fault f;
  fault_set(&f, FAULT_UPSTREAM_TIMEOUT,
            "has %u calls in flight on this connection; this call waited too long for its turn", c->lane->busy);
  f.undone = true;
  turn_leave(&state_of(c)->turn);
  failed(c, &f);
}

static enum call_result take_turn(struct call *c, void *state) {
  struct turn_state *s = state;
  struct turn *turn = &state_of(c)->turn;
  struct fault f;
  if (c->method->local) return CALL_NEXT;
  ASSERT(turn->lane == c->lane);
  bool shared = c->lane->owner.scope == LANE_OF_ALL && !c->lane->session;
  str name = shared && c->caller.id.n ? c->caller.id : str_of(c->session->id);
  turn->go = on_turn;
  switch (turn_take(turn, &(struct turn_caller){session_principal(c->session), name}, &f)) {
  case TURN_RUNS: return CALL_NEXT;
  case TURN_WAITS: break;
  default: return failed(c, &f);
  }
  s->call = c;
  timer_init(&s->timer, on_turn_late);
  timer_start(c->context->loop, &s->timer, upstreams_timeout(c->context->upstreams, lane_index(c->lane)));
  return CALL_WAIT;
}

const struct call_step step_turn = {
    .name = "turn",
    .does = "Waits for a turn on that connection, if many calls share it.",
    .state = sizeof(struct turn_state),
    .run = take_turn,
    .cancel = cancel_turn,
};
