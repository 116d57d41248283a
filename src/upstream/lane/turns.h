// SPDX-License-Identifier: Apache-2.0
// Turns limit the calls in flight on a lane. Further calls wait, in one line for each caller. Principals take turns,
// and so do the callers of one principal: a caller that floods a server delays only its own principal, whatever agent
// names it uses. The number of waiting calls is also limited: above the limit, the principal with the most waiting
// calls loses the last call of its longest line.
//
// A call also holds its lane: a lane that is held does not close as idle.
#pragma once
#include "upstream/upstream.h"

// The turn of a call, embedded in it.
struct turn {
  struct list node;   // in lane->users, in a line's `turns`, or in turns.called
  struct lane *lane;  // may be NULL
  struct turn_line *line;
  enum {
    TURN_NONE,
    TURN_HOLDS,   // holds the lane without a request in flight
    TURN_WAITS,   // in a line
    TURN_CALLED,  // the turn has come, and `go` will be called next
    TURN_RUNS,    // in flight
  } state;
  // Called when the turn begins (`f` is NULL), or when the call was rejected because of `f`. Never called before
  // turn_take returns.
  void (*go)(struct turn *t, const struct fault *f);
};

// A caller: a principal, and the name of one of its agents or sessions.
struct turn_caller {
  str principal, name;
};

void turn_init(struct turn *t);
void turn_hold(struct turn *t, struct lane *lane);  // leaves the lane that it held before

// Takes a turn on the held lane, or waits in the line of `who`. Returns TURN_RUNS or TURN_WAITS. If too many calls
// wait, leaves the lane and returns TURN_NONE with the reason in `f`.
int turn_take(struct turn *t, const struct turn_caller *who, struct fault *f);
void turn_end(struct turn *t);                  // the request has ended; the turn still holds the lane
size_t turns_waiting(const struct lane *lane);  // number of waiting calls
void turn_leave(struct turn *t);                // does nothing if no lane is held
