// SPDX-License-Identifier: Apache-2.0
// Which agent a request is from: what its credential says, what it says itself, or what is configured for those who say
// nothing.
//
//   - A credential decides. An agent that the request names besides may only be that one, or one below it (team.role).
//   - Without a credential, the agent that the request names, if a rule knows it or one above it; with `distrust`,
//     an error.
//   - Neither: an error with deny_on_missing_agent; else the configured default, else the agent "default".
#pragma once
#include "policy/policy.h"

struct identity_question {
  const struct policy *policy;  // NULL: there are no rules, and any name will do
  str credential;               // the agent that the credential is bound to; STR_NONE: none
  str named;                    // by the request; empty: it could and did not; STR_NONE: it has no place for that
  str fallback;                 // GATEWAY_DEFAULT_AGENT; STR_NONE or empty: none
  bool distrust;                // what is named counts only below a credential's agent
};

// *out is one of the question's texts, or "default", or (without rules) empty. False: f has FAULT_INVALID_AGENT_ID,
// FAULT_FALLBACK_AGENT_NOT_IN_RULES or FAULT_NO_FALLBACK_CONFIGURED, and says what can be done about it there.
bool identity_find(const struct identity_question *q, str *out, struct fault *f);

// The part of the rules that did not let it be found, as a dotted path. STR_NONE: it is the credential that did not.
str identity_rule(const struct identity_question *q, const struct fault *f);
