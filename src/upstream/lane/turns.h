// SPDX-License-Identifier: Apache-2.0
// Turns limit the calls in flight on a lane (a connection to a server). Further calls wait, in one line (queue) for
// each caller. Principals with waiting calls take turns, and so do the callers of one principal. So a caller that sends
// too many calls delays only calls of its own principal, even if it uses many agent names. The number of waiting calls
// is limited too. If there are too many, the last call in the longest line of the principal with the most waiting calls
// is rejected.
//
// A call also holds its lane, which prevents the lane from being closed as idle.
#pragma once
#include "upstream/upstream.h"

// The turn of a call, embedded in the state of the call.
struct turn {
  struct list node;   // in lane->users, in a line's `turns`, or in turns.called
  struct lane *lane;  // may be NULL
  struct turn_line *line;
  enum {
    TURN_NONE,
    TURN_HOLDS,   // holds the lane, but has no request in flight
    TURN_WAITS,   // waits in a line
    TURN_CALLED,  // the turn of the call has begun, and `go` will be called soon
    TURN_RUNS,    // in flight
  } state;
  // Called for a call that waits: when its turn begins (`f` is NULL), or when the call is rejected (`f` has the
  // reason). Not called before turn_take has returned.
  void (*go)(struct turn *t, const struct fault *f);
};

// A caller is identified by its principal and the name of its agent or session.
struct turn_caller {
  str principal, name;
};

void turn_init(struct turn *t);
void turn_hold(struct turn *t, struct lane *lane);  // holds `lane` instead of the lane that was held before

// Takes a turn on the held lane. Returns TURN_RUNS if the turn begins immediately, or TURN_WAITS if the call now waits
// in the line of `who`. If too many calls wait, leaves the lane and returns TURN_NONE; `f` has the reason.
int turn_take(struct turn *t, const struct turn_caller *who, struct fault *f);
void turn_end(struct turn *t);                  // the request has ended; the call still holds the lane
size_t turns_waiting(const struct lane *lane);  // number of waiting calls
void turn_leave(struct turn *t);                // does nothing if no lane is held
