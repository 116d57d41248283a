// SPDX-License-Identifier: Apache-2.0
// A stateless client's roots. Servers with a session ask for them when it opens, and again when they are told that they
// changed; what they do meanwhile goes by the roots they know. So a call of a client that has roots is held back for a
// moment: until a server that is new to it has asked, and heard the answer. On a connection where another call has
// answered before, it may be another client's call: the server is told to ask anew.
#include "call/steps/step_roots.h"
#include "call/bridge/ask.h"
#include "call/steps/step_resume.h"

enum { GRACE_MS = 100 };  // for a server to ask, and then to take in the answer

struct roots_state {
  struct call *call;  // NULL: it was not held back
  struct timer timer;
};

static void cancel(struct call *c, void *state) {
  struct roots_state *s = state;
  if (s->call) timer_stop(&s->timer);
}

// A parked call waits for its client.
static void detach(struct call *c, void *state, struct arena *a) {
  cancel(c, state);
}

static void on_grace(struct timer *t) {
  struct call *c = CONTAINER_OF(t, struct roots_state, timer)->call;
  list_remove(&c->node);
  call_restart(c, &step_connect);  // the lane may have gone meanwhile
}

static void wait_a_moment(struct call *c) {
  struct roots_state *s = call_state(c, &step_roots);
  if (!s->call) timer_init(&s->timer, on_grace);
  s->call = c;
  timer_start(c->context->loop, &s->timer, GRACE_MS);
}

static enum call_result run(struct call *c, void *state) {
  struct lane *lane = c->lane;
  bool has_roots = call_is_stateless(c) && c->session->can_list_roots && call_may_ask(c);
  if (!has_roots || lane_stateless(lane) || (lane->greeted && !lane->rooted)) return CALL_NEXT;
  const struct roots_state *s = state;
  if (s->call) return CALL_NEXT;
  if (lane->rooted) link_notify(lane->link, STR("notifications/roots/list_changed"), STR_NONE);
  lane->greeted = true;
  list_push(&lane->calls, &c->node);  // questions find it there
  asks_due(c);
  wait_a_moment(c);
  return CALL_WAIT;
}

void roots_answered(struct call *c) {
  // What was not answered is asked again, and the call waits on.
  if (!asks_open(c)) wait_a_moment(c);
}

const struct call_step step_roots = {
    .name = "roots",
    .does = "The server knows the roots of a stateless client, if it asks for them.",
    .state = sizeof(struct roots_state),
    .run = run,
    .cancel = cancel,
    .detach = detach,
};
