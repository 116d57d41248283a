// SPDX-License-Identifier: Apache-2.0
// Finds the agent of a request: from its credential, from the request itself, or from the configured fallback.
//
//   - A credential decides. The request may also name that agent, or one below it (team.role).
//   - Without a credential: the agent that the request names, if the rules have it or one above it; with `distrust`,
//     an error.
//   - With neither: an error if deny_on_missing_agent is set; else the configured fallback, else the agent "default".
#pragma once
#include "policy/policy.h"

struct identity_question {
  const struct policy *policy;  // NULL without rules: any name is accepted
  str credential;               // agent of the credential; STR_NONE without one
  str named;                    // agent in the request; empty if missing; STR_NONE if requests cannot name one
  str fallback;                 // GATEWAY_DEFAULT_AGENT; STR_NONE or empty without one
  bool distrust;                // reject a named agent without a credential
};

// Finds the agent: one of the question's texts, "default", or (without rules) empty. False: f has
// FAULT_INVALID_AGENT_ID, FAULT_FALLBACK_AGENT_NOT_IN_RULES or FAULT_NO_FALLBACK_CONFIGURED, with advice.
bool identity_find(const struct identity_question *q, str *out, struct fault *f);

// Returns the part of the rules that rejected the request, as a dotted path; STR_NONE if the credential did.
str identity_rule(const struct identity_question *q, const struct fault *f);
