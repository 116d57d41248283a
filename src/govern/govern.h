// SPDX-License-Identifier: Apache-2.0
// Governance: which capabilities exist (adapters), who may use them with which arguments (permissions), and which rules
// and approvals apply (bundles). A decision is a pure function of the file and the question, in five steps:
//
//   1. capability   unknown: CAPABILITY_UNKNOWN
//   2. permissions  no match, or one with allow: false: PERMISSION_DENIED
//   3. bundles      a rule with allow: false matches, or no rule matches and the capability's mode is above read_only:
//                   POLICY_DENIED. An expression fails: POLICY_EVAL_ERROR
//   4. mode         MODE_INVALID, MODE_EXCEEDS_MAXIMUM, MODE_RAISE_FORBIDDEN, MODE_ABOVE_RUN_CEILING,
//                   CLASS_MODE_CONFLICT
//   5. arguments    ARG_CONSTRAINT_VIOLATION, with every violation
//
// The first step that fails decides. A governance file is immutable and reference-counted, like a policy.
#pragma once
#include "govern/constraints.h"
#include "govern/manifest.h"

struct governance;

enum { GOVERNANCE_BYTES_MAX = 8 << 20, GOVERNANCE_DEPTH_MAX = 80, GOVERNANCE_ID_MAX = 256 };

// Returns whether a text can be an id or a name: 1 to GOVERNANCE_ID_MAX bytes without control characters.
bool governance_is_id(str s);

// Reads a governance file and copies it. Returns one reference, or NULL after a problem: a file with any error is
// refused as a whole.
struct governance *governance_read(const struct json *root, governance_problem *problem, void *ctx);
struct governance *governance_ref(struct governance *g);
void governance_unref(struct governance **g);

// The adapters, in the order of the file.
size_t governance_adapter_count(const struct governance *g);
const struct governance_adapter *governance_adapter_at(const struct governance *g, size_t index);

// The capabilities, in ascending order of their ids.
size_t governance_capability_count(const struct governance *g);
const struct governance_capability *governance_capability_at(const struct governance *g, size_t index);
const struct governance_capability *governance_find(const struct governance *g, str id);  // NULL if unknown

// ---- decisions

// No value of args or context is folded (json_parse_folding).
struct governance_question {
  str capability;              // adapter_id.name
  const struct json *args;     // an object, or NULL
  const struct json *context;  // an object that governance_check_context accepts, or NULL
  str mode;                    // requested mode; STR_NONE if absent
  bool partial;                // arguments may still be unknown: none is missing
};

// Returns whether a context is usable: tenant, role, intent and environment are strings, safety_mode is a mode, scopes
// is a list of strings, each of them null or absent; other members are for expressions only.
bool governance_check_context(const struct json *context, struct fault *f);

// Reads {"capability", "args"?, "context"?, "mode"?}; other members are ignored. The question refers to v.
bool governance_read_question(const struct json *v, struct arena *a, struct governance_question *out, struct fault *f);

// name, advice for a denied caller
#define GOVERNANCE_CODES(X) \
  X(ALLOWED, "") \
  X(CAPABILITY_UNKNOWN, "register the capability in an adapter, or correct its name") \
  X(PERMISSION_DENIED, "ask for a permission for this role, intent, environment and tenant") \
  X(POLICY_DENIED, "change the request so that a rule allows it") \
  X(POLICY_EVAL_ERROR, "an expression of a rule failed; report it to the owner of the rule") \
  X(MODE_INVALID, "request read_only, local_write, network, delegated or destructive") \
  X(MODE_EXCEEDS_MAXIMUM, "request a lower mode, or a call that a rule allows in a lower mode") \
  X(MODE_RAISE_FORBIDDEN, "a rule names a mode above the capability's; report it to the owner of the rule") \
  X(MODE_ABOVE_RUN_CEILING, "the run has a lower safety_mode; ask for another run") \
  X(CLASS_MODE_CONFLICT, "a rule lowers a capability of class act to read_only; report it to the owner of the rule") \
  X(ARG_CONSTRAINT_VIOLATION, "correct the arguments that are listed") \
  X(CLASS_INTENT_CONFLICT, "leave capabilities of class act out of a read_only plan")

enum governance_code {
#define X(name, advice) GOVERNANCE_##name,
  GOVERNANCE_CODES(X)
#undef X
};

const char *governance_code_name(enum governance_code code);    // "PERMISSION_DENIED"
const char *governance_code_advice(enum governance_code code);  // one sentence without full stop

struct governance_gate {
  str gate_id, pointer;
  str role;                  // required_approver_role
  uint64_t quorum;           // number of approvers
  const struct logic *when;  // NULL: only rules ask for this gate
};

// A permission or rule that matched.
struct governance_match {
  str id, pointer;
  const struct constraints *constraints;
};

// The arrays are in the arena of the decision; texts belong to the governance file or to the question.
struct governance_decision {
  enum governance_code code;                       // GOVERNANCE_ALLOWED, or the reason of the denial
  const struct governance_capability *capability;  // NULL if unknown
  str requested;                                   // as in the question
  enum approval_mode effective, highest;           // APPROVAL_NONE while not decided
  const struct governance_gate **gates;            // all must approve the call
  size_t gate_count;
  struct governance_match *matches;  // permissions, then rules, in the order of evaluation
  size_t match_count;
  struct violations violations;
  str pointer;      // what decided, as a JSON Pointer into the file
  const char *why;  // the error of an expression; NULL without one
};

void governance_decide(const struct governance *g, const struct governance_question *q, struct arena *a,
                       struct governance_decision *out);
