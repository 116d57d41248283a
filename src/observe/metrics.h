// SPDX-License-Identifier: Apache-2.0
// What was done since the start, counted, and written as Prometheus reads it (text format 0.0.4).
//
// Counting a call costs a look into a table by the server's name and a few additions. What can be asked for when
// somebody wants to know (sessions, queues, what is up) is not counted here: whoever writes the page adds it.
#pragma once
#include "base/buf.h"
#include "base/crypto/hash.h"
#include "base/fault.h"
#include "observe/rejection.h"

struct metrics;

enum { METRICS_SERVERS = 1024 };  // told apart; what comes after them is counted as one, "(others)"

struct metrics *metrics_new(const struct hash_key *seed);
void metrics_free(struct metrics **m);

struct metrics_call {
  str server;            // STR_NONE: it got to none
  enum fault_code code;  // FAULT_NONE: none
  bool tool_error;       // the tool says that it failed
  bool recalled;         // its result was remembered
  bool dry_run;          // nothing was called
  bool answered;         // by its server: how long that took is counted
  uint64_t us;
};
void metrics_count_call(struct metrics *m, const struct metrics_call *c);

// A result was shown with this many tokens less than it has. Estimated: see docs/reference/metrics.md.
void metrics_count_saved(struct metrics *m, uint64_t tokens);

// Somebody was not let in, or is nobody whom the rules know.
void metrics_count_rejection(struct metrics *m, enum rejection why);

// What was counted of one server. Times are those of answered calls, found within the classes of the histogram.
struct metrics_tally {
  uint64_t calls, errors;
  uint64_t p50_us, p95_us;  // 0: no call was answered
};
struct metrics_tally metrics_of(const struct metrics *m, str server);

// The last calls, the newest first: i from 0 on. False: there are no more.
enum { METRICS_LAST = 20 };
struct metrics_last {
  str server;           // empty: it got to none
  const char *outcome;  // as in toolgate_calls_total
  uint64_t us;          // 0: it was not answered by a server
};
bool metrics_last(const struct metrics *m, size_t i, struct metrics_last *out);

void metrics_write(const struct metrics *m, struct buf *out);

// For what others add to the page: a head, then a line for each value. label: a constant, or NULL for none.
void metrics_put_head(struct buf *out, const char *name, const char *type, const char *help);
void metrics_put_value(struct buf *out, const char *name, const char *label, str value_of_label, uint64_t value);
