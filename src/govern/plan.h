// SPDX-License-Identifier: Apache-2.0
// Plans: lists of intended calls. Governance decides about these calls without making them.
//
//   {"intent": "support.refund", "read_only": false, "context": {…},
//    "steps": [{"id": "s1", "capability": "adp_orders.lookup", "args": {…}, "mode": "…", "args_complete": true}]}
//
// Arguments that are not known yet may be left out of a step, so a missing argument does not violate `required` unless
// args_complete is true. In a plan with `read_only: true` or the intent `read_only`, capabilities of class act are
// denied.
#pragma once
#include "govern/govern.h"

enum { PLAN_STEPS_MAX = 1000 };

struct plan_step {
  str id;    // default: the step's position in the plan, from "1"
  str name;  // how the plan names the capability
  struct governance_question question;
};

struct governance_plan {
  str intent;  // STR_NONE if absent
  bool read_only;
  struct plan_step *steps;
  size_t count;
};

// The client that has sent a plan. Its plan has no `context`, and names capabilities by the ids of tools.
struct plan_caller {
  const struct json *context;
  int64_t now;  // seconds since 1970
  str name;     // member of a step that names the capability
  // Returns the id of the capability with this name; if there is none, an id that no capability has.
  str (*capability)(void *ctx, str name);
  void *ctx;
};

// Reads a plan; *out points into `v`. `caller` is NULL for a plan with its own context. The plan's intent applies if
// the context has no intent. On failure, returns false; f has a message and, as its path, the JSON Pointer of the
// error.
bool plan_read(const struct json *v, const struct plan_caller *caller, struct arena *a, struct governance_plan *out,
               struct fault *f);

// Decides about one step, like governance_decide. In a read-only plan, denies a capability of class act with
// CLASS_INTENT_CONFLICT. The gates of an allowed step include the built-in gate (govern/approvals.h).
void plan_decide(const struct governance *g, const struct governance_plan *p, size_t step, struct arena *a,
                 struct governance_decision *out);
