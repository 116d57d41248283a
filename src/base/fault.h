// SPDX-License-Identifier: Apache-2.0
// Typed errors: code, message, place, and whether a retry can help.
// A function that can fail takes a `struct fault *` as its last parameter and fills it when it returns failure.
// The caller that handles the fault logs it, once.
#pragma once
#include <stdbool.h>

#include "base/str.h"

// Each row: the name of a fault code, and whether a retry of the request can help.
#define FAULT_TABLE(X) \
  X(INVALID, false)              /* the input is malformed */ \
  X(LIMIT, false)                /* the input is larger than a configured limit */ \
  X(IO, false)                   /* the operating system refused to open, read, write or start something */ \
  X(PROTOCOL, false)             /* the peer broke the protocol */ \
  X(NOT_FOUND, false)            /* no such tool, resource, prompt */ \
  X(UPSTREAM_UNAVAILABLE, true)  /* the upstream is not connected, or its connection was lost */ \
  X(UPSTREAM_SESSION_LOST, true) /* the upstream dropped our session; it did not run the request */ \
  X(UPSTREAM_TIMEOUT, true)      /* no answer in time */ \
  X(UPSTREAM_ERROR, false)       /* the upstream answered with an error or with a wrong answer */ \
  X(AUTH_FAILED, false)          /* the upstream rejects our credential */ \
  X(PERMISSION_DENIED, false)    /* the upstream accepts our credential but refuses the request */ \
  X(CANCELLED, false)            /* the caller gave up */ \
  X(RATE_LIMITED, true)          /* too many requests for the gateway or for an upstream */ \
  X(ARGS_INVALID, false)         /* arguments of a meta-tool, or of the tool it calls */ \
  X(SCHEMA_INVALID, false)       /* the input schema of a tool is not usable */ \
  X(PATH_INVALID, false)         /* a malformed path */ \
  X(PATH_NOT_FOUND, false)       /* nothing has this path */ \
  X(HYDRATE_FAILED, false)       /* no such tool for this caller */ \
  X(TOOL_NOT_FOUND, false)       /* no such tool; its id has neither version nor hash */ \
  X(RESOURCE_NOT_FOUND, false)   /* no such resource */ \
  X(PROMPT_NOT_FOUND, false)     /* no such prompt */ \
  X(VIEW_FAILED, false)          /* no such artifact for this caller, or no such slice of it */ \
  X(INVALID_AGENT_ID, false)     /* the agent is missing, or no rule names it */ \
  X(FALLBACK_AGENT_NOT_IN_RULES, false) \
  X(NO_FALLBACK_CONFIGURED, false) \
  X(DENIED_BY_POLICY, false)         /* a rule denies the request */ \
  X(CAPABILITY_UNKNOWN, false)       /* the tool is not registered in the governance file */ \
  X(POLICY_DENIED, false)            /* a rule of a bundle denies the call, or none allows it */ \
  X(POLICY_EVAL_ERROR, false)        /* an expression of a bundle failed */ \
  X(MODE_INVALID, false)             /* the requested approval mode does not exist */ \
  X(MODE_EXCEEDS_MAXIMUM, false)     /* the approval mode is above that of the capability or permission */ \
  X(MODE_RAISE_FORBIDDEN, false)     /* a rule names a mode above that of the capability */ \
  X(MODE_ABOVE_RUN_CEILING, false)   /* the mode is above the safety_mode of the caller */ \
  X(CLASS_MODE_CONFLICT, false)      /* a rule lowers a capability of class act to read_only */ \
  X(CLASS_INTENT_CONFLICT, false)    /* the intent of the run does not allow the class of the capability */ \
  X(ARG_CONSTRAINT_VIOLATION, false) /* the arguments violate constraints */ \
  X(IDENTITY_INVALID, false)         /* the claims of the caller's token contradict each other */ \
  X(TENANT_MISMATCH, false)          /* an identity of the caller belongs to another tenant */ \
  X(DELEGATION_REQUIRED, false)      /* the caller does not act for a user, or lacks a scope */ \
  X(DELEGATION_EXPIRED, false)       /* the user's delegation has expired */ \
  X(RUN_BUDGET_EXCEEDED, false)      /* the run has used up its calls, its time or its cost */ \
  X(VERSION_MISMATCH, false)         /* the server has another version than the governance file expects */ \
  X(SCHEMA_DRIFT, false)             /* the tool differs from a hash in the governance file, or from its pin */ \
  X(TOOL_QUARANTINED, false)         /* an operator must accept the tool first */ \
  X(OUTPUT_SCHEMA_INVALID, false)    /* the result does not match the output schema of the tool */ \
  X(FLOW_DENIED, false)              /* the call would join private data, untrusted input and a way out */ \
  X(SKILL_UNAVAILABLE, false)        /* the skill, or a capability that it needs, cannot be used by this caller */ \
  X(SKILL_FAILED, false)             /* a condition or a step of the skill failed */ \
  X(CIRCUIT_OPEN, true)              /* the last calls of the capability failed, so it is not called now */ \
  X(EGRESS_BUDGET_EXCEEDED, true)    /* the tenant has sent too many calls of the capability */ \
  X(APPROVAL_REQUIRED, false)        /* a person must approve the call */ \
  X(APPROVAL_REJECTED, false)        /* a person has denied the call */ \
  X(APPROVAL_EXPIRED, false)         /* nobody has decided about the call in time */ \
  X(APPROVAL_INVALID, false)         /* there is no such request for this caller, or its approval does not count */ \
  X(EVIDENCE_CHANGED, false)         /* the evidence differs from the evidence that was approved */ \
  X(EVIDENCE_UNAVAILABLE, true)      /* the evidence for approvers cannot be fetched */ \
  X(EFFECTS_UNAVAILABLE, true)       /* the state of calls with effects cannot be stored */ \
  X(APPROVAL_ALREADY_REDEEMED, false) \
  X(AUDIT_UNAVAILABLE, true)   /* the audit log is required and cannot be written */ \
  X(RECORDS_UNAVAILABLE, true) /* records are required and cannot be written */ \
  X(SHUTTING_DOWN, true)

enum fault_code {
  FAULT_NONE,
#define X(name, retryable) FAULT_##name,
  FAULT_TABLE(X)
#undef X
      FAULT_COUNT
};

// The limit that a text exceeds, in a FAULT_LIMIT fault of json_parse. All other faults have LIMIT_OTHER.
enum fault_limit { LIMIT_OTHER, LIMIT_BYTES, LIMIT_DEPTH, LIMIT_VALUES };

enum { FAULT_CHARS = 256, FAULT_TEXT = 4 * FAULT_CHARS + 1, FAULT_PATH = 256 };

struct fault {
  enum fault_code code;
  enum fault_limit limit;
  char message[FAULT_TEXT];  // one line of at most FAULT_CHARS characters; ends in "…" if shortened
  char path[FAULT_PATH];     // JSON Pointer, "line N", an id, or empty
  uint64_t after_ms;         // milliseconds from now until a retry can help; 0 if unknown
  bool undone;               // the request certainly did not run
  bool again;                // the object was replaced: get the new object and repeat the operation
  bool passes;               // a retry can help, even if the code is not retryable
};

// Sets code and message and clears all other members. Removes terminal sequences from the message and replaces each run
// of white space and control characters with one blank (base/text/plain.h). The arguments may point into f.
void fault_set(struct fault *f, enum fault_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void fault_set_path(struct fault *f, str path);

const char *fault_name(enum fault_code code);  // "UPSTREAM_TIMEOUT"
bool fault_retryable(enum fault_code code);
