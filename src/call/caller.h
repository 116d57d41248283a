// SPDX-License-Identifier: Apache-2.0
// The caller of a request: its agent, and the rules that apply to the agent. A call ends under the rules under which it
// began, unless it is parked in the meantime (call/bridge/parked_calls.c).
#pragma once
#include "catalog/catalog.h"
#include "govern/agents.h"
#include "mcp/server/session.h"
#include "policy/identity.h"

// The current rules. The application owns them, and replaces the policy when it is reloaded.
struct rulebook {
  struct policy *policy;          // NULL: there are no rules
  struct governance *governance;  // NULL: calls are not governed. Without both, every caller may use everything
  str fallback;                   // the agent of a request that names none; may be empty
  bool trust_stated;              // accept the agent that a request names even if the request has no credential for it
};

struct caller {
  const struct policy *policy;              // NULL: there are no rules
  const struct policy_agent *agent;         // rules of the agent; NULL if there are no rules
  str id;                                   // may be empty without rules
  const struct governance *governance;      // NULL: calls are not governed
  const struct governance_agent *governed;  // what the governance file says about the agent; NULL without such a file
};

// Returns whether the rules or the governance file may hide something from the caller, or from some callers.
static inline bool caller_is_limited(const struct caller *c) {
  return c->policy || c->governance;
}
static inline bool rulebook_limits(const struct rulebook *b) {
  return b->policy || b->governance;
}

// Finds the caller of a request. `named` is the agent that the request names: empty if it names none, STR_NONE if it
// cannot name one. out->policy is the rulebook's policy, without a new reference. Returns false with the reason in f.
bool caller_find(const struct rulebook *book, const struct session *s, str named, struct caller *out, struct fault *f);

static inline bool caller_is_unknown(enum fault_code code) {  // caller_find failed with this code
  return code == FAULT_INVALID_AGENT_ID || code == FAULT_FALLBACK_AGENT_NOT_IN_RULES ||
         code == FAULT_NO_FALLBACK_CONFIGURED;
}

// Decides whether a caller may see and use an item. For a tool, its name matters; for a resource or prompt, only the
// server.
struct policy_decision caller_decide(const struct caller *c, str server, enum item_kind kind, str name);

// Returns the rule that made caller_find fail, as a dotted path; STR_NONE if the credential was the reason.
str caller_rule(const struct rulebook *book, const struct session *s, str named, const struct fault *f);
// Describes the denial of a tool or, if `tool` is STR_NONE, of a server.
void caller_describe_denial(const struct caller *c, const struct policy_decision *d, str tool, struct fault *f);

static inline bool caller_may(const struct caller *c, str server, enum item_kind kind, str name) {
  return !caller_is_limited(c) || caller_decide(c, server, kind, name).allowed;
}
