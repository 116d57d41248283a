// SPDX-License-Identifier: Apache-2.0
// Plans: lists of intended calls. Governance decides about these calls without making them.
//
//   {"intent": "support.refund", "read_only": false, "context": {…},
//    "steps": [{"id": "s1", "capability": "adp_orders.lookup", "args": {…}, "mode": "…", "args_complete": true}]}
//
// Arguments that are not known yet may be left out of a step, so a missing argument does not violate `required` unless
// args_complete is true. Capabilities of a class that the plan's intent does not allow are denied; in a plan with
// `read_only: true`, these are the capabilities of class act.
#pragma once
#include "govern/govern.h"

// Maximum number of steps of a plan. A plan of a client is decided in one callback, so it is smaller.
enum { PLAN_STEPS_MAX = 1000, PLAN_CALLER_STEPS_MAX = 100 };

struct plan_step {
  str id;           // default: the step's position in the plan, from "1"
  str name;         // how the plan names the capability
  bool ungoverned;  // no adapter governs the tool, so only the flow guard applies
  unsigned marks;   // of the flow guard, for an ungoverned step
  // `flow` are the marks that the run has before the plan; plan_decide adds those of earlier steps.
  struct governance_question question;
};

struct governance_plan {
  str intent;  // STR_NONE if absent
  bool read_only;
  struct plan_step *steps;
  size_t count;
  size_t decided;  // number of steps that plan_decide has decided
  unsigned marks;  // of the flow guard, of the steps that were allowed so far
};

// The client that has sent a plan. Its plan has no `context`, and names capabilities by the ids of tools. The plan's
// intent can only exclude classes of capabilities, because the calls will be made with the intent of the context.
struct plan_caller {
  const struct json *context;
  str ceiling;  // lower safety_mode that the request asks for, or STR_NONE
  int64_t now;  // seconds since 1970
  str name;     // member of a step that names the capability
  // Returns the id of the capability with this name; if there is none, an id that no capability has.
  str (*capability)(void *ctx, str name);
  void *ctx;
};

// Reads a plan; *out points into `v`. `caller` is NULL for a plan with its own context; the plan's intent then becomes
// the intent of a context without an intent. On failure, returns false; f has a message and, as its path, the JSON
// Pointer of the error.
bool plan_read(const struct json *v, const struct plan_caller *caller, struct arena *a, struct governance_plan *out,
               struct fault *f);

// Decides about the next step, like governance_decide. Must be called for each step in the order of the plan. Denies a
// capability whose class the plan does not allow with CLASS_INTENT_CONFLICT.
void plan_decide(const struct governance *g, struct governance_plan *p, struct arena *a,
                 struct governance_decision *out);
