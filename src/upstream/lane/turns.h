// SPDX-License-Identifier: Apache-2.0
// Turns limit the calls in flight on a lane. Other calls wait, in one line for each caller. Principals take turns, and
// so do the callers of a principal: a caller that floods a server delays itself, not other principals, whatever names
// it uses. The number of waiting calls is limited, too: over the limit, the principal with the most waiting calls loses
// the last call of its longest line.
//
// A call also holds its lane, which then does not close when it is idle.
#pragma once
#include "upstream/upstream.h"

// The turn of a call, embedded in it.
struct turn {
  struct list node;   // in lane->users, in a line, or in turns.called
  struct lane *lane;  // may be NULL
  struct turn_line *line;
  enum {
    TURN_NONE,
    TURN_HOLDS,   // holds the lane without a request in flight
    TURN_WAITS,   // in a line
    TURN_CALLED,  // its `go` is about to be called
    TURN_RUNS,    // in flight
  } state;
  // The turn runs, or has left because of f. Never called before turn_take returns.
  void (*go)(struct turn *t, const struct fault *f);
};

// A principal, and one of its agents or sessions.
struct turn_caller {
  str principal, name;
};

void turn_init(struct turn *t);
void turn_hold(struct turn *t, struct lane *lane);  // leaves another lane that it holds

// Takes a turn on the lane that it holds, or waits in the line of `who`. Returns TURN_RUNS, TURN_WAITS, or TURN_NONE if
// too many wait: then it has left, and f has the reason.
int turn_take(struct turn *t, const struct turn_caller *who, struct fault *f);
void turn_end(struct turn *t);                  // its request has ended: it only holds the lane
size_t turns_waiting(const struct lane *lane);  // number of waiting calls
void turn_leave(struct turn *t);                // does nothing without a lane
