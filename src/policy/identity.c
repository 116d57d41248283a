// SPDX-License-Identifier: Apache-2.0
#include "policy/identity.h"

#include "base/assert.h"

#define HELP "Either provide 'agent_id' in your tool calls, or ask the user to configure the gateway's fallback agent."
#define MISSING "Missing 'agent_id' parameter"
// Message for a client that cannot name an agent in its requests, because its connection decides the agent.
#define UNNAMED "You have no agent identity"
#define HELP_UNNAMED "Ask the user for a token of an agent (auth.tokens, auth.jwt), or on stdio to serve with --agent"

static bool is_below(str agent, str above) {
  return str_eq(agent, above) || (str_starts(agent, above) && agent.p[above.n] == '.');
}

static bool is_known(const struct identity_question *q, str agent, struct fault *f) {
  if (!q->policy || policy_find(q->policy, agent)) return true;
  fault_set(f, FAULT_INVALID_AGENT_ID, "Agent '%.*s' is not configured in gateway rules.", STR_ARG(agent));
  return false;
}

static bool by_credential(const struct identity_question *q, str *out, struct fault *f) {
  str agent = q->named.n ? q->named : q->credential;
  if (!is_below(agent, q->credential)) {
    fault_set(f, FAULT_INVALID_AGENT_ID, "Your credential is for agent '%.*s': it cannot act as '%.*s'.",
              STR_ARG(q->credential), STR_ARG(agent));
    return false;
  }
  if (!is_known(q, agent, f)) return false;
  *out = agent;
  return true;
}

static bool by_fallback(const struct identity_question *q, str *out, struct fault *f) {
  str agent = q->fallback.n ? q->fallback : STR("default");
  bool denies = policy_denies_missing(q->policy), asks = q->named.p;
  if (!denies && policy_find(q->policy, agent)) {
    *out = agent;
    return true;
  }
  if (denies)
    fault_set(f, FAULT_INVALID_AGENT_ID,
              asks ? "Missing required parameter 'agent_id'. All tool calls must include agent identity."
                   : UNNAMED ", and the rules require one. " HELP_UNNAMED ".");
  else if (q->fallback.n)
    fault_set(f, FAULT_FALLBACK_AGENT_NOT_IN_RULES,
              "%s and fallback agent '%.*s' is not configured in gateway rules. %s", asks ? MISSING : UNNAMED,
              STR_ARG(q->fallback), asks ? HELP : HELP_UNNAMED ".");
  else
    fault_set(f, FAULT_NO_FALLBACK_CONFIGURED, "%s and no fallback agent configured. %s", asks ? MISSING : UNNAMED,
              asks ? HELP : HELP_UNNAMED ", or to set GATEWAY_DEFAULT_AGENT.");
  return false;
}

bool identity_find(const struct identity_question *q, str *out, struct fault *f) {
  ASSERT(q && out && f);
  if (q->credential.n) return by_credential(q, out, f);
  if (q->named.n && q->distrust) {
    fault_set(f, FAULT_INVALID_AGENT_ID, "'agent_id' requires a credential of that agent. " HELP_UNNAMED ".");
    return false;
  }
  if (q->named.n) {
    if (!is_known(q, q->named, f)) return false;
    *out = q->named;
    return true;
  }
  if (q->policy) return by_fallback(q, out, f);
  *out = q->fallback.n ? q->fallback : STR("");
  return true;
}

str identity_rule(const struct identity_question *q, const struct fault *f) {
  switch (f->code) {
  case FAULT_FALLBACK_AGENT_NOT_IN_RULES: return STR("agents");
  case FAULT_NO_FALLBACK_CONFIGURED: return STR("agents.default");
  default: break;
  }
  if (q->credential.n && q->named.n && !is_below(q->named, q->credential)) return STR_NONE;
  if (!q->credential.n && q->named.n && q->distrust) return STR_NONE;
  return q->credential.n || q->named.n ? STR("agents") : STR("defaults.deny_on_missing_agent");
}
