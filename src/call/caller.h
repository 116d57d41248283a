// SPDX-License-Identifier: Apache-2.0
// Who calls, by the rules as they are now. Found for each request; a call keeps what it found, so that what began under
// some rules ends under them, unless it waits for its client's answers meanwhile (call/bridge/park.c).
#pragma once
#include "catalog/catalog.h"
#include "mcp/server/session.h"
#include "policy/identity.h"

// Everything that decides who may do what; owned by the application, which swaps the policy.
struct rulebook {
  struct policy *policy;  // NULL: everybody may use everything
  str fallback;           // the agent that is meant when nobody is named; may be empty
  bool trust_stated;      // an agent that a request names counts without a credential for it
};

struct caller {
  const struct policy *policy;       // NULL: there are no rules
  const struct policy_agent *agent;  // NULL without rules
  str id;                            // may be empty without rules
};

// named: by the request itself; empty: it could and did not; STR_NONE: it has no place for that. The policy is the
// rulebook's, not counted. False: f says why.
bool caller_find(const struct rulebook *book, const struct session *s, str named, struct caller *out, struct fault *f);

static inline bool caller_is_unknown(enum fault_code code) {  // that is why it failed
  return code == FAULT_INVALID_AGENT_ID || code == FAULT_FALLBACK_AGENT_NOT_IN_RULES ||
         code == FAULT_NO_FALLBACK_CONFIGURED;
}

// May it see and use this? A tool is asked for by its name; resources and prompts are their server's.
struct policy_decision caller_decide(const struct caller *c, str server, enum item_kind kind, str name);

// The rule that made caller_find fail, as a dotted path; STR_NONE: none did, it is the credential.
str caller_rule(const struct rulebook *book, const struct session *s, str named, const struct fault *f);
// What somebody is told who was denied a tool, or (STR_NONE) a server.
void caller_tell(const struct caller *c, const struct policy_decision *d, str tool, struct fault *f);

static inline bool caller_may(const struct caller *c, str server, enum item_kind kind, str name) {
  return !c->policy || caller_decide(c, server, kind, name).allowed;
}
