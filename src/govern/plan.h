// SPDX-License-Identifier: Apache-2.0
// Plans: a list of intended calls, decided without making them.
//
//   {"intent": "support.refund", "read_only": false, "context": {…},
//    "steps": [{"id": "s1", "capability": "adp_orders.lookup", "args": {…}, "mode": "…", "args_complete": true}]}
//
// Arguments of a step that are not known yet are left out; none counts as missing unless args_complete is true. A plan
// with the intent `read_only`, or `read_only: true`, contains no capability of class act.
#pragma once
#include "govern/govern.h"

enum { PLAN_STEPS_MAX = 1000 };

struct plan_step {
  str id;  // "1", "2", … if absent
  struct governance_question question;
};

struct plan {
  str intent;  // STR_NONE if absent
  bool read_only;
  struct plan_step *steps;
  size_t count;
};

// Reads a plan, which refers to v. The plan's intent is that of the context, unless the context has its own. False: f
// has a message, and as its path a JSON Pointer.
bool plan_read(const struct json *v, struct arena *a, struct plan *out, struct fault *f);

// Decides about one step: CLASS_INTENT_CONFLICT for class act in a read-only plan, else as governance_decide.
void plan_decide(const struct governance *g, const struct plan *p, size_t step, struct arena *a,
                 struct governance_decision *out);
