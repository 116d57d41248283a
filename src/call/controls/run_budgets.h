// SPDX-License-Identifier: Apache-2.0
// Counts calls, time and cost of runs against their budgets (govern/run.h).
//
// Memory is bounded: a run is forgotten 24 hours after its last call, and each principal has a fair share of the runs.
// A principal that has used up its share cannot start another run, because dropping an old run would reset its budget.
#pragma once
#include "govern/run.h"

struct run_budgets;

struct run_budgets *run_budgets_new(const struct hash_key *seed);
void run_budgets_free(struct run_budgets **b);

struct run_call {
  str principal;   // whose share has the run, if this is its first call
  str run;         // identifies the run among all runs of all principals
  double cost;     // of this call
  uint64_t now;    // in milliseconds, never decreases
  bool continued;  // this request continues a call that was counted before: only max_wall_ms applies
};

// Counts a call if the budget allows it. Otherwise counts nothing and returns the limit that does not allow the call:
// "max_calls", "max_wall_ms", "max_cost", or "runs" if the principal has too many runs. Returns NULL on success; then
// *out_left_ms is the time that is left for the run, or UINT64_MAX.
const char *run_budgets_take(struct run_budgets *b, const struct run_call *call, const struct run_budget *limits,
                             uint64_t *out_left_ms);

void run_budgets_forget(struct run_budgets *b, str run);  // does nothing for an unknown run
