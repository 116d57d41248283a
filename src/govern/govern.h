// SPDX-License-Identifier: Apache-2.0
// Governance: which capabilities exist (adapters), who may use them with which arguments (permissions), and which rules
// and approvals apply (bundles). A decision depends only on the file and the question. It has seven steps:
//
//   1. Finds the capability. CAPABILITY_UNKNOWN if no adapter has it, PERMISSION_DENIED if its environment is not
//      that of the context.
//   2. Matches the permissions. PERMISSION_DENIED if none matches, or if one with allow: false matches.
//      CLASS_INTENT_CONFLICT if the intent of the run does not allow the capability's class.
//   3. Matches the rules of all bundles. POLICY_DENIED if a rule with allow: false matches, or if no rule matches and
//      the capability's mode is above read_only. POLICY_EVAL_ERROR if an expression fails.
//   4. Chooses the mode. MODE_INVALID, MODE_EXCEEDS_MAXIMUM, MODE_RAISE_FORBIDDEN, MODE_ABOVE_RUN_CEILING or
//      CLASS_MODE_CONFLICT if the mode is not allowed.
//   5. Checks the delegation. PERMISSION_DENIED if a claim is missing that the capability requires, DELEGATION_REQUIRED
//      if a scope is missing or a call in mode delegated has no user as its origin, DELEGATION_EXPIRED if the
//      delegation is no longer valid.
//   6. Checks the arguments. ARG_CONSTRAINT_VIOLATION if they violate constraints.
//   7. Checks the flow. FLOW_DENIED if the run would have all marks of the flow guard (govern/flow.h).
//
// The first step that fails denies the call. A struct governance is immutable and reference-counted.
#pragma once
#include "govern/constraints.h"
#include "govern/manifest.h"

struct governance;

// The member `pins`: what happens to tools that differ from the definition that was accepted (catalog/pins/pins.h).
enum governance_pins { GOVERNANCE_PINS_OFF, GOVERNANCE_PINS_WARN, GOVERNANCE_PINS_ENFORCE };
enum governance_pins governance_pins(const struct governance *g);  // GOVERNANCE_PINS_WARN if the member is absent

enum { GOVERNANCE_BYTES_MAX = 8 << 20, GOVERNANCE_DEPTH_MAX = 80, GOVERNANCE_ID_MAX = 256 };

// Returns whether `s` is valid as an id or a name: it must have 1 to GOVERNANCE_ID_MAX bytes and no control characters.
bool governance_is_id(str s);

// Reads a governance file and copies its contents. Returns a governance with one reference, or NULL if the file has an
// error. Reports every error to `problem`.
struct governance *governance_read(const struct json *root, governance_problem *problem, void *ctx);
struct governance *governance_ref(struct governance *g);
void governance_unref(struct governance **g);

// The members `skills` (paths of skill files) and `skill_keys` (keys that sign skills) of the governance file.
struct governance_skill_key {
  str kid, pointer;
  str owner_role;  // the key signs skills of this role
  str public_key;  // Ed25519: PEM text, or 32 bytes in base64url
  str description;
};
const struct governance_names *governance_skill_files(const struct governance *g);
const struct governance_skill_key *governance_skill_key(const struct governance *g, str kid);  // NULL if unknown

// The skills of the file (skill/skills.h), which are read after the file. governance_keep_skills passes the ownership
// to the governance and must be called at most once. governance_skills returns NULL if there are no skills.
struct skills;
void governance_keep_skills(struct governance *g, struct skills *skills, void (*free)(struct skills **skills));
const struct skills *governance_skills(const struct governance *g);

bool governance_offers_plan_check(const struct governance *g);  // returns whether agents get the meta-tool plan_check

// governance_adapter_count returns the number of adapters. governance_adapter_at returns the adapter at `index`, in the
// order of the file.
size_t governance_adapter_count(const struct governance *g);
const struct governance_adapter *governance_adapter_at(const struct governance *g, size_t index);

// governance_capability_count returns the number of capabilities. governance_capability_at returns the capability at
// `index`, in ascending order of the ids. governance_find returns the capability with this id.
size_t governance_capability_count(const struct governance *g);
const struct governance_capability *governance_capability_at(const struct governance *g, size_t index);
const struct governance_capability *governance_find(const struct governance *g, str id);  // NULL if unknown

// ---- decisions

// The members of a context that permissions and rules refer to; STR_NONE if absent.
struct governance_subject {
  str role, intent, environment, tenant;
};

// A call to decide about. Values in args and context must not be folded (json_parse_folding).
struct governance_question {
  str capability;                            // adapter_id.name
  const struct json *args;                   // an object, or NULL
  const struct json *context;                // an object that governance_check_context accepts, or NULL
  str canonical;                             // canonical form (RFC 8785) of the context, or STR_NONE if it is not known
  const struct governance_subject *subject;  // the members of the context that the file refers to; NULL: read them
  str mode;                                  // requested mode; STR_NONE if absent
  int64_t now;                               // seconds since 1970; 0 if unknown: a delegation then never expires
  unsigned flow;  // marks of the flow guard (govern/flow.h) that the run has before this call
  // The capability of a tool that no adapter lists, as governance_find_tool returns it, or NULL.
  const struct governance_capability *provisional;
  const struct json *annotations;  // hints of a tool that no adapter lists and the governance does not know, or NULL
  bool partial;                    // some arguments are not known yet, so a missing argument is no violation
};

// Returns whether a context is valid. tenant, role, intent, environment and run_id must be strings, safety_mode an
// approval mode, scopes a list of strings, principals a list of objects, delegation_expires a number, and budget as
// run_budget_read requires; each may be null or absent. Other members are not checked: only expressions read them.
bool governance_check_context(const struct json *context, struct fault *f);

// Reads {"capability", "args"?, "context"?, "mode"?, "now"?, "flow"?} and ignores other members. *out points into `v`.
// On failure, returns false with the reason in f.
bool governance_read_question(const struct json *v, struct arena *a, struct governance_question *out, struct fault *f);

// The codes of decisions. Each row has a name, and advice for a caller whose call is denied.
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
  X(DELEGATION_REQUIRED, "act for a user whose token has the scopes of the capability") \
  X(DELEGATION_EXPIRED, "ask the user for a new delegation") \
  X(ARG_CONSTRAINT_VIOLATION, "correct the arguments that are listed") \
  X(CLASS_INTENT_CONFLICT, "use capabilities of the classes that the intent allows; read_only allows no act") \
  X(FLOW_DENIED, "in one run, do not join private data, untrusted input and a capability that sends data out")

enum governance_code {
#define X(name, advice) GOVERNANCE_##name,
  GOVERNANCE_CODES(X)
#undef X
};

const char *governance_code_name(enum governance_code code);    // returns a name such as "PERMISSION_DENIED"
const char *governance_code_advice(enum governance_code code);  // one sentence without a full stop

struct governance_gate {
  str gate_id, pointer;
  str role;                  // required_approver_role
  uint64_t quorum;           // number of approvers
  const struct logic *when;  // NULL if the gate applies only to rules that name it
};

// A permission or a rule that can match a call.
struct governance_match {
  str id, pointer;
  str record;    // raw JSON: an object with id and pointer, for decision records
  str evidence;  // raw JSON: the string "permission:ID" or "policy:BUNDLE#RULE", for envelopes
  struct constraints constraints;
};

// The arrays are in the arena of the decision. The strings belong to the governance file or to the question.
struct governance_decision {
  enum governance_code code;                       // GOVERNANCE_ALLOWED, or the reason of the denial
  const struct governance_capability *capability;  // NULL if unknown
  str requested;                                   // the question's mode
  enum approval_mode effective, highest;           // APPROVAL_NONE if the decision ended before the mode was known
  const struct governance_gate **gates;            // gates of this call; each of them must approve it
  size_t gate_count;
  const struct governance_match **matches;  // permissions first, then rules, in the order of evaluation
  size_t match_count;
  struct violations violations;
  str pointer;      // JSON Pointer into the file to the part that decided
  const char *why;  // error of the expression that failed; NULL if none failed
};

void governance_decide(const struct governance *g, const struct governance_question *q, struct arena *a,
                       struct governance_decision *out);
