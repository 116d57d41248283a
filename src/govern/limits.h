// SPDX-License-Identifier: Apache-2.0
// The members `breaker` and `egress` of adapters and capabilities (effect/breakers.h, effect/egress.h).
#pragma once
#include <stdbool.h>
#include <stdint.h>

// When a circuit breaker opens and closes.
struct breaker_limits {
  bool set;  // the file has the member
  bool enabled;
  uint64_t consecutive;  // failures in a row that open the breaker
  uint64_t min_calls;    // fewer calls than this in the window never open it by `ratio`
  uint64_t probes;       // probes at the same time
  double ratio;          // share of failures that opens the breaker
  double window_s, open_s;
  double degraded_s;  // while the breaker is open, cached results may be used until this time after they expired
};
extern const struct breaker_limits breaker_default_limits;

// How many calls of a capability a tenant may send.
struct egress_limits {
  bool set;           // the file has the member
  double rate;        // calls in a second; 0: no bucket
  uint64_t burst;     // size of the bucket
  uint64_t daily;     // calls in a day; 0: no limit
  double daily_cost;  // sum of the costs of a day; negative: no limit
};

struct governance_capability;

// Return the limits of the capability or else of its adapter. Without any, governance_breaker returns the default
// limits, and governance_egress returns NULL.
const struct breaker_limits *governance_breaker(const struct governance_capability *c);
const struct egress_limits *governance_egress(const struct governance_capability *c);
