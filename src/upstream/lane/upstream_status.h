// SPDX-License-Identifier: Apache-2.0
// How an upstream is at this moment, for whoever watches the gateway.
#pragma once
#include "upstream/upstream.h"

struct upstream_status {
  str name;
  enum lane_state state;  // the best of its connections; LANE_IDLE: none is open, and none is wanted
  const char *why;        // LANE_DOWN: what the fault says
  size_t open;            // connections that are ready
  size_t in_flight;       // calls under way on them
  size_t waiting;         // calls that wait for their turn
  uint64_t starts, restarts, losses;
};

// The state of one server, for the operator's commands.
enum { STATUS_PIDS = 32 };
struct upstream_detail {
  const char *state;             // "ready", "starting", "installing", "waiting" (to be installed), "down", "idle"
  char progress[LANE_PROGRESS];  // of an installation; empty: there is none
  const char *last_error;        // of the connection that failed last; NULL: none did
  const char *said;              // the most telling line that its program printed before that; may be empty
  int64_t ready_ms;              // how long the oldest ready connection has been ready; -1: none is
  int pids[STATUS_PIDS];         // processes of its connections, at most so many
  size_t pid_count;
};
struct upstream_detail upstreams_detail(const struct upstreams *all, unsigned index);

// The last lines that its processes wrote to stderr.
const struct tail *upstreams_tail(const struct upstreams *all, unsigned index);

// Writes the lists of a server, from which a command builds the same catalog: members "instructions", "anonymous" and
// "rosters" of an object that the caller has begun.
struct json_writer;
void upstreams_put_definitions(const struct upstreams *all, unsigned index, struct json_writer *w);

struct upstream_status upstreams_status(const struct upstreams *all, unsigned index);
