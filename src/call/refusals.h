// SPDX-License-Identifier: Apache-2.0
// Refusals that repeat. A client that is refused over and over must not fill the audit log: the first
// refusals of one principal for one reason in a minute have a line each (audit.refusals_per_minute). The others are
// counted, and one line at the end of that minute has their number and the times of the first and the last.
#pragma once
#include "base/list.h"
#include "base/map.h"
#include "observe/audit.h"

enum { REFUSALS_WINDOW_MS = 60000, REFUSALS_MOST = 1024 };  // pairs of principal and reason that are remembered

struct refusals {
  unsigned whole;  // lines in a minute; 0: each refusal has one
  void (*write)(void *ctx, const struct audit_event *e);
  void *ctx;
  struct map pairs;
  struct list by_age;  // the oldest comes first
};

void refusals_init(struct refusals *r, unsigned whole, const struct hash_key *seed,
                   void (*write)(void *ctx, const struct audit_event *e), void *ctx);
void refusals_done(struct refusals *r);  // writes what was counted

// A refusal, at this time: has it a line of its own? now_ms never goes back.
bool refusals_tell(struct refusals *r, const struct audit_event *e, uint64_t now_ms, int64_t wall_ms);

// Writes what was counted in minutes that are over. The time until the next is over; 0: nothing is counted.
uint64_t refusals_settle(struct refusals *r, uint64_t now_ms);
