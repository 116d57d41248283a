// SPDX-License-Identifier: Apache-2.0
// Counters of governed calls since the start: outcomes of each capability, durations of each adapter, decisions,
// refusals of the flow guard, and calls whose class contradicts the tool's own annotations.
#pragma once
#include "base/crypto/hash.h"
#include "govern/govern.h"
#include "json/write.h"

struct govern_metrics;

// Maximum number of capabilities, and also of adapters, with counters of their own. All others share the counters
// "(others)".
enum { GOVERN_METRICS_NAMES = 1024 };

struct govern_metrics *govern_metrics_new(const struct hash_key *seed);
void govern_metrics_free(struct govern_metrics **m);

// Outcomes of governed calls: name, meaning.
#define GOVERNED_ENDS(X) \
  X(COMPLETED, "completed") /* the tool succeeded, or the result came from the cache */ \
  X(FAILED, "failed")       /* the tool or its server reported an error */ \
  X(TIMEOUT, "timeout") \
  X(CANCELLED, "cancelled") \
  X(DENIED, "denied")                       /* the gateway refused the call */ \
  X(APPROVAL_REQUIRED, "approval_required") /* the call waits until a person approves it */

enum governed_end {
#define X(name, word) GOVERNED_##name,
  GOVERNED_ENDS(X)
#undef X
      GOVERNED_END_COUNT
};

struct governed_call {
  const struct governance_capability *capability;
  enum governed_end end;
  bool answered;  // the server responded, so the duration `us` is counted
  uint64_t us;
  // The capability has a class without effects, but the server's annotations call the tool destructive.
  bool misclassified;
};

void govern_metrics_call(struct govern_metrics *m, const struct governed_call *c);
void govern_metrics_decision(struct govern_metrics *m, enum governance_code code);
// Counts a call or view that would have joined private data, untrusted input and a way to send data out. `refused` is
// false if the flow guard only warned.
void govern_metrics_flow(struct govern_metrics *m, bool refused);

// Calls that breakers and egress budgets stopped or that got an expired result, and breakers that opened.
#define GOVERNED_LIMITS(X) \
  X(CIRCUIT_OPEN, "circuit_open") \
  X(EGRESS, "egress_budget") \
  X(DEGRADED, "degraded") \
  X(BREAKER_OPENED, "breaker_opened")

enum governed_limit {
#define X(name, word) GOVERNED_LIMIT_##name,
  GOVERNED_LIMITS(X)
#undef X
      GOVERNED_LIMIT_COUNT
};
void govern_metrics_limit(struct govern_metrics *m, enum governed_limit limit);

// Writes the metrics for Prometheus.
void govern_metrics_write(const struct govern_metrics *m, struct buf *out);
// Writes the counters as members of an open JSON object, for `toolgate stats --governance --json`.
void govern_metrics_put(const struct govern_metrics *m, struct json_writer *w);
