// SPDX-License-Identifier: Apache-2.0
// Limits audit lines about repeated refusals, so that a client that is refused repeatedly cannot fill the audit log.
// Within a minute, the first refusals of one principal for one reason get a line each (audit.refusals_per_minute). The
// others are counted, and one line at the end of that minute has their number and the times of the first and the last.
#pragma once
#include "base/list.h"
#include "base/map.h"
#include "observe/audit.h"

enum { REFUSALS_WINDOW_MS = 60000, REFUSALS_MOST = 1024 };  // ms, and remembered pairs of principal and reason

struct refusals {
  unsigned whole;  // lines in a minute; 0: no limit
  void (*write)(void *ctx, const struct audit_event *e);
  void *ctx;
  struct map pairs;
  struct list by_age;  // oldest first
};

void refusals_init(struct refusals *r, unsigned whole, const struct hash_key *seed,
                   void (*write)(void *ctx, const struct audit_event *e), void *ctx);
void refusals_done(struct refusals *r);  // writes the lines about counted refusals

// Returns whether this refusal gets its own line; otherwise counts it. now_ms must never decrease.
bool refusals_log(struct refusals *r, const struct audit_event *e, uint64_t now_ms, int64_t wall_ms);

// Writes the counts of minutes that have ended. Returns the milliseconds until the next minute ends; 0 if no minute is
// running.
uint64_t refusals_settle(struct refusals *r, uint64_t now_ms);
