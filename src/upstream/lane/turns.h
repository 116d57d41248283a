// SPDX-License-Identifier: Apache-2.0
// Turns: so many calls are under way on a lane at once, and no more. Others wait, each caller in a line of its own.
// Principals take turns, and within a principal its callers do: whoever floods a server waits behind itself, not the
// others behind it, under however many names it calls. So many wait in all, and when there is one too many, it is the
// principal with most that loses the last of its longest line.
//
// Whoever uses a lane holds it besides: it is not closed for want of use.
#pragma once
#include "upstream/upstream.h"

// One call's, embedded in it.
struct turn {
  struct list node;   // among those that hold the lane, in a line, or among those that are being called
  struct lane *lane;  // NULL: none
  struct turn_line *line;
  enum {
    TURN_NONE,
    TURN_HOLDS,   // it has the lane, and nothing under way on it
    TURN_WAITS,   // in a line
    TURN_CALLED,  // it is about to hear that it may go
    TURN_RUNS,    // it is one of those under way
  } state;
  // f NULL: it runs. Else it waits no longer, and has left. Never called before turn_take returns.
  void (*go)(struct turn *t, const struct fault *f);
};

// Who calls: a principal, by one of its agents or sessions.
struct turn_caller {
  str principal, name;
};

void turn_init(struct turn *t);
void turn_hold(struct turn *t, struct lane *lane);  // which it may hold already; another one it leaves

// Takes a turn on the lane that it holds. who: in whose line it waits. TURN_RUNS, TURN_WAITS, or TURN_NONE: too many
// wait, f says so, and it has left.
int turn_take(struct turn *t, const struct turn_caller *who, struct fault *f);
void turn_end(struct turn *t);                  // what was under way is over: it only holds the lane
size_t turns_waiting(const struct lane *lane);  // how many wait for one on it
void turn_leave(struct turn *t);                // fine when it has none
