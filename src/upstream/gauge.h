// SPDX-License-Identifier: Apache-2.0
// How an upstream is at this moment, for whoever watches the gateway.
#pragma once
#include "upstream/upstream.h"

struct upstream_gauge {
  str name;
  enum lane_state state;  // the best of its connections; LANE_IDLE: none is open, and none is wanted
  const char *why;        // LANE_DOWN: what the fault says
  size_t open;            // connections that are ready
  size_t in_flight;       // calls under way on them
  size_t waiting;         // calls that wait for their turn
  uint64_t starts, restarts, losses;
};

struct upstream_gauge upstreams_gauge(const struct upstreams *all, unsigned index);
