// SPDX-License-Identifier: Apache-2.0
// Finds the agent of a request: from its credential, from the request itself, or from the configured fallback.
//
//   - With a credential: the credential's agent. The request may also name this agent or a descendant (team.role).
//   - Without a credential: the agent that the request names, if the rules define the agent or an ancestor; an error
//     if `distrust` is set.
//   - With neither: an error if deny_on_missing_agent is set; otherwise the configured fallback agent or, without a
//     configured fallback, the agent "default".
#pragma once
#include "policy/policy.h"

struct identity_question {
  const struct policy *policy;  // NULL if there are no rules: any agent name is accepted
  str credential;               // agent of the credential; STR_NONE without a credential
  str named;                    // agent in the request; empty if missing; STR_NONE if requests cannot name an agent
  str fallback;                 // GATEWAY_DEFAULT_AGENT; STR_NONE or empty if not set
  bool distrust;                // reject a request that names an agent but has no credential
};

// Sets *out to the name of the agent: a string of `q`, or "default", or an empty string if there are no rules. On
// failure, returns false with FAULT_INVALID_AGENT_ID, FAULT_FALLBACK_AGENT_NOT_IN_RULES or FAULT_NO_FALLBACK_CONFIGURED
// in f.
bool identity_find(const struct identity_question *q, str *out, struct fault *f);

// Returns the part of the rules that rejected the request, as a dotted path. Returns STR_NONE if the request was
// rejected because of its credential, or because it has no credential.
str identity_rule(const struct identity_question *q, const struct fault *f);
