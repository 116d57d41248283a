// SPDX-License-Identifier: Apache-2.0
// The current state of an upstream, for commands, metrics and the admin pages.
#pragma once
#include "upstream/upstream.h"

struct upstream_status {
  str name;
  enum lane_state state;  // the best of its connections; LANE_IDLE: none is open
  const char *why;        // LANE_DOWN: the message of the fault
  size_t open;            // connections that are ready
  size_t in_flight;       // calls in flight on them
  size_t waiting;         // calls that wait for their turn
  uint64_t starts, restarts, losses;
};

// The state of one server, for the operator's commands.
enum { STATUS_PIDS = 32 };
struct upstream_detail {
  const char *state;             // "ready", "starting", "installing", "waiting" (to be installed), "down", "idle"
  char progress[LANE_PROGRESS];  // of an installation; may be empty
  const char *last_error;        // of the connection that failed last; may be NULL
  const char *said;              // the most informative line that its program printed before; may be empty
  int64_t ready_ms;              // age of the oldest ready connection; -1: none
  int pids[STATUS_PIDS];         // processes of its connections
  size_t pid_count;
};
struct upstream_detail upstreams_detail(const struct upstreams *all, unsigned index);

// Returns the last lines that its processes wrote to stderr.
const struct tail *upstreams_tail(const struct upstreams *all, unsigned index);

// Writes the lists of a server, from which a command builds the same catalog: members "instructions", "anonymous" and
// "definitions" of an object that the caller has begun.
struct json_writer;
void upstreams_put_definitions(const struct upstreams *all, unsigned index, struct json_writer *w);

struct upstream_status upstreams_status(const struct upstreams *all, unsigned index);
