// SPDX-License-Identifier: Apache-2.0
// Limits the audit lines about refused requests, so that a client that is refused repeatedly cannot fill the audit log.
// Within a minute, the first refusals of a principal for the same reason get a line each; audit.refusals_per_minute
// sets how many. Further refusals are only counted. At the end of the minute, one line reports their number and the
// times of the first and the last one.
#pragma once
#include "base/list.h"
#include "base/map.h"
#include "observe/audit.h"

// REFUSALS_MOST: maximum number of pairs of principal and reason in memory
enum { REFUSALS_WINDOW_MS = 60000, REFUSALS_MOST = 1024 };

struct refusals {
  unsigned whole;  // maximum number of single lines for a pair in a minute; 0 if there is no limit
  void (*write)(void *ctx, const struct audit_event *e);
  void *ctx;
  struct map pairs;
  struct list by_age;  // oldest first
};

void refusals_init(struct refusals *r, unsigned whole, const struct hash_key *seed,
                   void (*write)(void *ctx, const struct audit_event *e), void *ctx);
void refusals_done(struct refusals *r);  // writes the lines about counted refusals, and frees memory

// Returns true if this refusal must get its own line. Otherwise counts the refusal and returns false. now_ms must never
// decrease.
bool refusals_log(struct refusals *r, const struct audit_event *e, uint64_t now_ms, int64_t wall_ms);

// Writes the lines about refusals that were counted in minutes that have ended. Returns the milliseconds until the next
// minute ends, or 0 if no refusals are being counted.
uint64_t refusals_settle(struct refusals *r, uint64_t now_ms);
