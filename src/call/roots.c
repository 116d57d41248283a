// SPDX-License-Identifier: Apache-2.0
// A stateless client's roots. Servers with a session ask for them when it opens, and again when they are told that they
// changed; what they do meanwhile goes by the roots they know. So a call of a client that has roots is held back for a
// moment: until a server that is new to it has asked, and heard the answer. On a connection where another call has
// answered before, it may be another client's call: the server is told to ask anew.
#include "call/bridge.h"

enum { GRACE_MS = 100 };  // for a server to ask, and then to take in the answer

static void on_grace(struct timer *t) {
  struct call *c = CONTAINER_OF(t, struct call, settle);
  list_remove(&c->node);
  call_restart(c, step_connect);  // the lane may have gone meanwhile
}

static void wait_a_moment(struct call *c) {
  c->settle.fire = on_grace;
  timer_start(c->context->loop, &c->settle, GRACE_MS);
}

enum call_result step_roots(struct call *c) {
  struct lane *lane = c->lane;
  bool has_roots = call_is_stateless(c) && c->session->can_list_roots && call_may_ask(c);
  if (!has_roots || c->greeted || lane_stateless(lane) || (lane->greeted && !lane->rooted)) return CALL_NEXT;
  if (lane->rooted) link_notify(lane->link, STR("notifications/roots/list_changed"), STR_NONE);
  lane->greeted = c->greeted = true;
  list_push(&lane->calls, &c->node);  // questions find it there
  asks_due(c);
  wait_a_moment(c);
  return CALL_WAIT;
}

void roots_answered(struct call *c) {
  // What was not answered is asked again, and the call waits on.
  if (!asks_open(c)) wait_a_moment(c);
}
