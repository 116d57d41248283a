// SPDX-License-Identifier: Apache-2.0
// The current state of an upstream, for commands, metrics and the admin pages.
#pragma once
#include "upstream/upstream.h"

struct upstream_status {
  str name;
  enum lane_state state;  // best state of the server's lanes; LANE_IDLE if it has no lane
  const char *why;        // error message, if the state is LANE_DOWN
  size_t open;            // number of ready connections
  size_t in_flight;       // number of calls in flight
  size_t waiting;         // number of calls that wait for their turn
  uint64_t starts, restarts, losses;
};

enum { STATUS_PIDS = 32 };
// The detailed state of one server, for commands of the operator.
struct upstream_detail {
  const char *state;             // "ready", "starting", "installing", "waiting" (to be installed), "down" or "idle"
  char progress[LANE_PROGRESS];  // progress of an installation; may be empty
  const char *last_error;        // error message of the last failed connection; may be NULL
  const char *said;              // the most useful line that the program printed before it failed; may be empty
  int64_t ready_ms;              // age of the oldest ready connection in milliseconds, or -1 if no connection is ready
  int pids[STATUS_PIDS];         // process ids of the server
  size_t pid_count;
};
struct upstream_detail upstreams_detail(const struct upstreams *all, unsigned index);

// Returns the last lines that the processes of the server wrote to stderr.
const struct tail *upstreams_tail(const struct upstreams *all, unsigned index);

struct json_writer;
// Writes a server's definitions, so that a command can build the same catalog as the gateway. Adds the members
// "instructions", "anonymous" and "definitions" to the JSON object that the calling function has begun.
void upstreams_put_definitions(const struct upstreams *all, unsigned index, struct json_writer *w);

struct upstream_status upstreams_status(const struct upstreams *all, unsigned index);
