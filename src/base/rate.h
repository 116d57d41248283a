// SPDX-License-Identifier: Apache-2.0
// Limits the number of events per second and counts the suppressed events.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct rate {
  uint64_t second;
  unsigned count, suppressed;
};

// Returns whether one more event is allowed now. If so, sets *out_suppressed to the number of events that were
// suppressed since the last allowed event.
static inline bool rate_allow(struct rate *r, uint64_t now_ms, unsigned per_second, unsigned *out_suppressed) {
  if (r->second != now_ms / 1000) {
    r->second = now_ms / 1000;
    r->count = 0;
  }
  if (r->count >= per_second) {
    r->suppressed++;
    return false;
  }
  r->count++;
  *out_suppressed = r->suppressed;
  r->suppressed = 0;
  return true;
}
