// SPDX-License-Identifier: Apache-2.0
// Passes the roots of a stateless client to a server with a session. Such a server asks for roots when the session
// opens, and asks again only after a notification that the roots have changed. So the first call of a client with roots
// is delayed until the server has asked and has received the answer. If the server already has roots on this
// connection, they may be those of another client, so the server is notified of a change and asks again.
#include "base/assert.h"
#include "call/bridge/session_questions.h"
#include "call/steps/steps.h"

enum { GRACE_MS = 100 };  // time for the server to ask for roots, and then to handle the answer

struct roots_state {
  struct call *call;  // NULL: the call was not delayed
  struct timer timer;
};

static void cancel(struct call *c, void *state, str reason) {
  struct roots_state *s = state;
  if (s->call) timer_stop(&s->timer);
}

// Stops the timer when the call is parked, because a parked call waits for its client.
static void detach(struct call *c, void *state, struct arena *a) {
  cancel(c, state, STR_NONE);
}

static void on_grace(struct timer *t) {
  struct call *c = CONTAINER_OF(t, struct roots_state, timer)->call;
  call_leave_lane(c);
  call_restart(c, STEP_CONNECT);  // gets the connection again, because it may have been freed
}

static void wait_for_question(struct call *c) {
  ASSERT(c->lane);
  struct roots_state *s = call_state(c, STEP_ROOTS);
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
  call_join_lane(c);  // so that the server's questions are assigned to this call
  asks_due(c);
  wait_for_question(c);
  return CALL_WAIT;
}

void roots_answered(struct call *c) {
  // Waits until the server has handled the answer. But if the client has not answered all questions, they are sent
  // again, and the call is parked again.
  if (!asks_open(c)) wait_for_question(c);
}

const struct call_step step_roots = {
    .name = "roots",
    .does = "Lets a server ask for the roots of a stateless client first.",
    .state = sizeof(struct roots_state),
    .run = run,
    .cancel = cancel,
    .detach = detach,
};
