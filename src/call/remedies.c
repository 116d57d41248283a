// SPDX-License-Identifier: Apache-2.0
#include "call/remedies.h"

#include "base/assert.h"
#include "govern/govern.h"

static const char *const remedies[FAULT_COUNT] = {
    [FAULT_INVALID] = "correct the request",
    [FAULT_LIMIT] = "send a smaller request",
    [FAULT_PROTOCOL] = "report the invalid answer to the operator of the server",
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
    [FAULT_APPROVAL_REQUIRED] = "change the call so that it needs no approval, or ask for the approval",
    [FAULT_APPROVAL_REJECTED] = "do not repeat the call; ask the person for the reason, or change the call",
    [FAULT_APPROVAL_EXPIRED] = "repeat the call to ask for a new approval",
    [FAULT_APPROVAL_INVALID] = "repeat the call to ask for a new approval",
    [FAULT_APPROVAL_ALREADY_REDEEMED] = "check whether the effect of the call happened before you ask for another one",
    [FAULT_EVIDENCE_CHANGED] = "repeat the call to ask for a new approval",
    [FAULT_EVIDENCE_UNAVAILABLE] = "repeat the call later",
    [FAULT_EFFECTS_UNAVAILABLE] = "repeat the call later",
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
  return advice ? advice : "read the message and the details";
}
