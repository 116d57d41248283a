// SPDX-License-Identifier: Apache-2.0
// Turns limit the calls in flight on a lane. Further calls wait, in one line for each caller. Waiting principals take
// turns, and so do the callers of one principal: a caller that floods a server delays only its own principal, even if
// it uses many agent names. The number of waiting calls is limited, too: when it is exceeded, the principal with the
// most waiting calls loses the last call of its longest line.
//
// A call also holds its lane, which prevents the lane from being closed as idle.
#pragma once
#include "upstream/upstream.h"

// The turn of a call, embedded in it.
struct turn {
  struct list node;   // in lane->users, in a line's `turns`, or in turns.called
  struct lane *lane;  // may be NULL
  struct turn_line *line;
  enum {
    TURN_NONE,
    TURN_HOLDS,   // holds the lane, but has no request in flight
    TURN_WAITS,   // waits in a line
    TURN_CALLED,  // the turn has come, and `go` will be called next
    TURN_RUNS,    // in flight
  } state;
  // Called when the turn begins (`f` is NULL), or when the call is rejected (`f` has the reason). Never called before
  // turn_take returns.
  void (*go)(struct turn *t, const struct fault *f);
};

// A caller is identified by its principal and the name of its agent or session.
struct turn_caller {
  str principal, name;
};

void turn_init(struct turn *t);
void turn_hold(struct turn *t, struct lane *lane);  // leaves the lane that the turn held before

// Takes a turn on the held lane, or waits in the line of `who`. Returns TURN_RUNS or TURN_WAITS. If too many calls are
// waiting, leaves the lane and returns TURN_NONE; `f` has the reason.
int turn_take(struct turn *t, const struct turn_caller *who, struct fault *f);
void turn_end(struct turn *t);                  // the request has ended; the call still holds the lane
size_t turns_waiting(const struct lane *lane);  // number of waiting calls
void turn_leave(struct turn *t);                // does nothing if no lane is held
