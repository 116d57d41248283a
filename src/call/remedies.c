// SPDX-License-Identifier: Apache-2.0
#include "call/remedies.h"

#include "base/assert.h"
#include "govern/govern.h"

static const char *const remedies[FAULT_COUNT] = {
    [FAULT_INVALID] = "correct the request",
    [FAULT_LIMIT] = "send a smaller request",
    [FAULT_IO] = "ask the operator to read the log of the gateway",
    [FAULT_PROTOCOL] = "report the invalid answer to the operator of the server",
    [FAULT_NOT_FOUND] = "list the entries again, and correct the name",
    [FAULT_UPSTREAM_UNAVAILABLE] =
        "repeat the call later; if it has an effect, check first whether the effect happened",
    [FAULT_UPSTREAM_SESSION_LOST] = "repeat the call",
    [FAULT_UPSTREAM_TIMEOUT] = "repeat the call if it only reads; otherwise check first whether its effect happened",
    [FAULT_UPSTREAM_ERROR] = "read the message of the server, and correct the call",
    [FAULT_AUTH_FAILED] = "ask the operator to correct the credential of the server",
    [FAULT_CANCELLED] = "repeat the call if its result is still needed",
    [FAULT_RATE_LIMITED] = "repeat the call after the time that the error states",
    [FAULT_ARGS_INVALID] = "correct the arguments by the schema of the tool",
    [FAULT_SCHEMA_INVALID] = "ask the operator to correct the input schema of the tool",
    [FAULT_PATH_INVALID] = "correct the path",
    [FAULT_PATH_NOT_FOUND] = "browse from the root to find valid paths",
    [FAULT_HYDRATE_FAILED] = "search for the tool again, and use the id from the search",
    [FAULT_TOOL_NOT_FOUND] = "search for the tool again, and use the id from the search",
    [FAULT_RESOURCE_NOT_FOUND] = "list the resources again, and correct the URI",
    [FAULT_PROMPT_NOT_FOUND] = "list the prompts again, and correct the name",
    [FAULT_VIEW_FAILED] = "correct the handle or the selector, or repeat the call that made the result",
    [FAULT_INVALID_AGENT_ID] = "name an agent of the access rules",
    [FAULT_FALLBACK_AGENT_NOT_IN_RULES] = "ask the operator to add the fallback agent to the access rules",
    [FAULT_NO_FALLBACK_CONFIGURED] = "name an agent in the request, or ask the operator for a fallback agent",
    [FAULT_DENIED_BY_POLICY] = "ask the operator for an access rule or a permission",
    [FAULT_IDENTITY_INVALID] = "get a token whose claims agree with each other",
    [FAULT_TENANT_MISMATCH] = "use a token of the tenant",
    [FAULT_RUN_BUDGET_EXCEEDED] = "start another run, or ask for a larger budget",
    [FAULT_VERSION_MISMATCH] = "ask the operator to update the version in the governance file, or the server",
    [FAULT_SCHEMA_DRIFT] = "ask the operator to review the changed tool",
    [FAULT_TOOL_QUARANTINED] = "ask the operator to review the tool",
    [FAULT_OUTPUT_SCHEMA_INVALID] = "check whether the effect of the call happened; report the result to the operator",
    [FAULT_CIRCUIT_OPEN] = "repeat the call after the time that the error states",
    [FAULT_EGRESS_BUDGET_EXCEEDED] = "repeat the call after the time that the error states",
    [FAULT_SKILL_UNAVAILABLE] = "ask the operator for the skill and for its capabilities",
    [FAULT_SKILL_FAILED] = "read which step or condition has failed, and correct the input",
    [FAULT_APPROVAL_REQUIRED] = "change the call so that it needs no approval, or ask for the approval",
    [FAULT_IDEMPOTENCY_KEY_REQUIRED] = "send a key that is unique to this effect, and repeat it only to retry the call",
    [FAULT_IDEMPOTENCY_KEY_MISMATCH] = "send the same key in _meta and in the arguments, or only one of them",
    [FAULT_IDEMPOTENCY_CONFLICT] = "repeat the earlier call without changes, or use a new key for another effect",
    [FAULT_IDEMPOTENCY_IN_PROGRESS] = "repeat the call later with the same key",
    [FAULT_EFFECT_UNKNOWN] = "check at the server whether the effect happened; then ask the operator to run toolgate "
                             "dead-letters resolve",
    [FAULT_EFFECTS_UNAVAILABLE] = "repeat the call later with the same key",
    [FAULT_AUDIT_UNAVAILABLE] = "repeat the call later",
    [FAULT_RECORDS_UNAVAILABLE] = "repeat the call later",
    [FAULT_SHUTTING_DOWN] = "repeat the call after the gateway has started again",
};

// Returns the advice for a governance code, which GOVERNANCE_CODES defines, or NULL for other codes.
static const char *advice_of(const char *name) {
  static const struct {
    const char *name, *advice;
  } codes[] = {
#define X(name, advice) {#name, advice},
      GOVERNANCE_CODES(X)
#undef X
  };
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (!strcmp(codes[i].name, name)) return codes[i].advice;
  return NULL;
}

const char *call_remedy(enum fault_code code) {
  ASSERT((unsigned)code < FAULT_COUNT);
  const char *advice = remedies[code] ? remedies[code] : advice_of(fault_name(code));
  ASSERT(advice || code == FAULT_NONE);
  return advice ? advice : "";
}
