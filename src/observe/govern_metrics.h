// SPDX-License-Identifier: Apache-2.0
// Counters of governed calls since the start: outcomes of each capability, durations of each adapter, decisions,
// refusals of the flow guard, calls whose class contradicts the tool's own annotations, and calls whose real mode an
// operator has stated.
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
  X(REPLAYED, "replayed")   /* an earlier call with the same idempotency key has ended */ \
  X(TIMEOUT, "timeout") \
  X(CANCELLED, "cancelled") \
  X(DENIED, "denied") /* the gateway refused the call */

enum governed_end {
#define X(name, word) GOVERNED_##name,
  GOVERNED_ENDS(X)
#undef X
      GOVERNED_END_COUNT
};

// Events of idempotency keys: name, meaning.
#define KEY_EVENTS(X) \
  X(REPLAYED, "replayed")           /* the outcome of an earlier call was returned */ \
  X(CONFLICT, "conflict")           /* the key was used for another call */ \
  X(IN_PROGRESS, "in_progress")     /* a call with the key did not end in time */ \
  X(UNKNOWN, "unknown")             /* a call was sent, and its outcome is unknown */ \
  X(FOUND_UNKNOWN, "found_unknown") /* refused, because the outcome of an earlier call is unknown */ \
  X(UNAVAILABLE, "unavailable")     /* refused, because the key could not be stored */

enum key_event {
#define X(name, word) KEY_##name,
  KEY_EVENTS(X)
#undef X
      KEY_EVENT_COUNT
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
// An operator's statement about the real approval mode of a recorded call.
struct governed_audit {
  str adapter;  // empty if no adapter lists the tool
  enum approval_mode effective, real;
  enum approval_mode before;  // the real mode by an earlier statement about this call, or APPROVAL_NONE
};
// Counts each call once as audited, and once as misclassified if its real mode differs from the effective mode. A later
// statement that the mode was right does not lower the counters.
void govern_metrics_audit(struct govern_metrics *m, const struct governed_audit *a);

void govern_metrics_decision(struct govern_metrics *m, enum governance_code code);
// Counts a denied call of a tool that the caller may not see. `capability` is NULL if no adapter lists the tool.
void govern_metrics_denied(struct govern_metrics *m, const struct governance_capability *capability,
                           enum governance_code code);
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
void govern_metrics_key(struct govern_metrics *m, enum key_event event);

// Writes the metrics for Prometheus.
void govern_metrics_write(const struct govern_metrics *m, struct buf *out);
// Writes the counters as members of an open JSON object, for `toolgate stats --governance --json`.
void govern_metrics_put(const struct govern_metrics *m, struct json_writer *w);
