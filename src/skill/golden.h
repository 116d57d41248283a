// SPDX-License-Identifier: Apache-2.0
// The golden set of a skill: recorded runs with the outcomes that they must have. Each line of the file is a case:
//
//   {"name"?, "input", "context"?, "results": {STEP: {"result": …} or {"code": "…"}},
//    "expect": {"outcome", "code"?, "steps"?: {STEP: OUTCOME}, "args"?: {STEP: ARGS}, "postconditions"?: [true, …],
//               "output"?}}
//
// No server is called. The governance file decides each step with the context of the case; an allowed step has the
// recorded result.
#pragma once
#include "skill/skill_run.h"

enum { GOLDEN_CASES_MAX = 1000 };

// Receives the result of each case. `why` is NULL if the case has passed.
typedef void golden_report(void *ctx, size_t line, str name, const char *why);

struct golden_result {
  size_t passed, failed;
};

// Runs all cases of the golden set. Returns whether there is at least one case and all have passed.
bool golden_run(const struct skills *skills, const struct governance *g, const struct skill_entry *e,
                golden_report *report, void *ctx, struct golden_result *out);

// Runs all cases of the golden set of an entry, and stores the result in the entry.
void golden_test(struct skills *skills, const struct governance *g, struct skill_entry *e);
