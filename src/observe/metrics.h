// SPDX-License-Identifier: Apache-2.0
// Counters since the start, written in the Prometheus text format 0.0.4.
//
// Counting a call takes one hash table lookup by server name and a few additions. Current values (sessions, queues,
// server states) are not stored here: the admin page adds them to each response.
#pragma once
#include "base/buf.h"
#include "base/crypto/hash.h"
#include "base/fault.h"
#include "observe/rejection.h"

struct metrics;
struct govern_metrics;

// Maximum number of servers that are counted separately. All further servers are counted together as "(others)".
enum { METRICS_SERVERS = 1024 };

struct metrics *metrics_new(const struct hash_key *seed);
void metrics_free(struct metrics **m);

// Returns the counters of governed calls (observe/govern_metrics.h).
struct govern_metrics *metrics_governed(const struct metrics *m);

struct metrics_call {
  str server;            // STR_NONE if the call reached no server
  enum fault_code code;  // FAULT_NONE on success
  bool tool_error;       // the tool reported an error
  bool recalled;         // the result came from the cache
  bool dry_run;          // no tool was called
  bool answered;         // the server responded: `us` is counted
  uint64_t us;
};
void metrics_count_call(struct metrics *m, const struct metrics_call *c);

// Counts tokens of a result that were not sent to the client. docs/reference/metrics.md says how they are estimated.
void metrics_count_saved(struct metrics *m, uint64_t tokens);

// Counts a request that was rejected: its authentication failed, or its agent is not in the rules.
void metrics_count_rejection(struct metrics *m, enum rejection why);

// Counters of one server; zeros if no call was counted. Times are those of answered calls, interpolated from a
// histogram.
struct metrics_tally {
  uint64_t calls, errors;
  // Median and 95th percentile of the answer times, in microseconds; 0 if no call was answered.
  uint64_t p50_us, p95_us;
};
struct metrics_tally metrics_of(const struct metrics *m, str server);

enum { METRICS_LAST = 20 };  // number of recent calls that are stored
struct metrics_last {
  str server;           // empty if the call reached no server
  const char *outcome;  // name of the outcome, as in toolgate_calls_total
  uint64_t us;          // 0 if no server responded
};
// Reads the i-th of the last calls; 0 is the newest. Returns false if there is no such call.
bool metrics_last(const struct metrics *m, size_t i, struct metrics_last *out);

void metrics_write(const struct metrics *m, struct buf *out);

// Append a metric to the page. Call metrics_put_head once, then metrics_put_value for each value. `label` must be a
// constant or NULL.
void metrics_put_head(struct buf *out, const char *name, const char *type, const char *help);
void metrics_put_value(struct buf *out, const char *name, const char *label, str value_of_label, uint64_t value);
