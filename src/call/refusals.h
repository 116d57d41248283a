// SPDX-License-Identifier: Apache-2.0
// Refusals that repeat. A client that is refused repeatedly must not fill the audit log: the first refusals of one
// principal for one reason in a minute have a line each (audit.refusals_per_minute). The others are counted, and one
// line at the end of that minute has their number and the times of the first and the last.
#pragma once
#include "base/list.h"
#include "base/map.h"
#include "observe/audit.h"

enum { REFUSALS_WINDOW_MS = 60000, REFUSALS_MOST = 1024 };  // pairs of principal and reason that are remembered

struct refusals {
  unsigned whole;  // lines in a minute; 0: no limit
  void (*write)(void *ctx, const struct audit_event *e);
  void *ctx;
  struct map pairs;
  struct list by_age;  // oldest first
};

void refusals_init(struct refusals *r, unsigned whole, const struct hash_key *seed,
                   void (*write)(void *ctx, const struct audit_event *e), void *ctx);
void refusals_done(struct refusals *r);  // writes the remaining counts

// Returns whether a refusal at this time has a line of its own; otherwise it is counted. now_ms never decreases.
bool refusals_log(struct refusals *r, const struct audit_event *e, uint64_t now_ms, int64_t wall_ms);

// Writes the counts of minutes that have ended. Returns the milliseconds until the next minute ends; 0: none is open.
uint64_t refusals_settle(struct refusals *r, uint64_t now_ms);
