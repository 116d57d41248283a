// SPDX-License-Identifier: Apache-2.0
#include "policy/identity.h"

#define HELP "Either provide 'agent_id' in your tool calls, or ask the user to configure the gateway's fallback agent."
// Where no request can name an agent, it is its client's connection that says who it is.
#define UNKNOWN "It is not known which agent you are"
#define HELP_UNNAMED "Ask the user for a token of an agent (auth.tokens, auth.jwt), or on stdio to serve with --agent"

static bool is_below(str agent, str above) {
  return str_eq(agent, above) || (str_starts(agent, above) && agent.p[above.n] == '.');
}

static bool known(const struct identity_question *q, str agent, struct fault *f) {
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
  if (!known(q, agent, f)) return false;
  *out = agent;
  return true;
}

static void tell_unnamed(const struct identity_question *q, struct fault *f) {
  if (policy_denies_missing(q->policy))
    fault_set(f, FAULT_INVALID_AGENT_ID, UNKNOWN ", and the rules demand it. " HELP_UNNAMED ".");
  else if (q->fallback.n)
    fault_set(f, FAULT_FALLBACK_AGENT_NOT_IN_RULES,
              UNKNOWN " and fallback agent '%.*s' is not configured in gateway rules. " HELP_UNNAMED ".",
              STR_ARG(q->fallback));
  else
    fault_set(f, FAULT_NO_FALLBACK_CONFIGURED,
              UNKNOWN " and no fallback agent configured. " HELP_UNNAMED ", or to set GATEWAY_DEFAULT_AGENT.");
}

static void tell_missing(const struct identity_question *q, struct fault *f) {
  if (policy_denies_missing(q->policy))
    fault_set(f, FAULT_INVALID_AGENT_ID,
              "Missing required parameter 'agent_id'. All tool calls must include agent identity.");
  else if (q->fallback.n)
    fault_set(f, FAULT_FALLBACK_AGENT_NOT_IN_RULES,
              "Missing 'agent_id' parameter and fallback agent '%.*s' is not configured in gateway rules. " HELP,
              STR_ARG(q->fallback));
  else
    fault_set(f, FAULT_NO_FALLBACK_CONFIGURED, "Missing 'agent_id' parameter and no fallback agent configured. " HELP);
}

static bool by_fallback(const struct identity_question *q, str *out, struct fault *f) {
  str agent = q->fallback.n ? q->fallback : STR("default");
  if (!policy_denies_missing(q->policy) && policy_find(q->policy, agent)) {
    *out = agent;
    return true;
  }
  if (q->named.p) tell_missing(q, f);
  else tell_unnamed(q, f);
  return false;
}

bool identity_find(const struct identity_question *q, str *out, struct fault *f) {
  if (q->credential.n) return by_credential(q, out, f);
  if (q->named.n && q->distrust) {
    fault_set(f, FAULT_INVALID_AGENT_ID,
              "An 'agent_id' counts here only with a credential that names the agent. " HELP_UNNAMED ".");
    return false;
  }
  if (q->named.n) {
    if (!known(q, q->named, f)) return false;
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
