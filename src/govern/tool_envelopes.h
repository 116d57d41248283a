// SPDX-License-Identifier: Apache-2.0
// The envelopes of governed calls: ToolCallEnvelope (contextos.tool_call.v1) says who calls what, and which decision
// allowed it; ToolResultEnvelope (contextos.tool_result.v1) says how the call ended. Their JSON Schemas are in
// data/schemas.
#pragma once
#include "govern/records.h"
#include "json/write.h"

struct tool_call_envelope {
  str tool_call_id, run_id, trace_id, session_id;
  str capability;                         // raw JSON string
  str args;                               // raw JSON object
  str principals;                         // raw JSON array
  str requested;                          // requested mode; STR_NONE: the highest mode
  enum approval_mode effective, highest;  // APPROVAL_NONE: unknown, because the call was denied
  str decision_id;
  const struct governance_decision *decision;
  str idempotency_key, auth_ref;  // STR_NONE if absent
  const char *arguments;          // how `args` was recorded (struct decision_record)
  const char *args_digest;        // or NULL
};

void tool_call_envelope_put(struct buf *out, const struct tool_call_envelope *e);

// Checks what the JSON Schema of the envelope cannot express: args.idempotency_key must equal idempotency_key if both
// are present, and the effective mode must not be above the highest mode.
bool tool_call_envelope_check(const struct json *envelope, struct fault *f);

enum tool_status {
  TOOL_COMPLETED,
  TOOL_FAILED,
  TOOL_DENIED,
  TOOL_APPROVAL_REQUIRED,
  TOOL_TIMEOUT,
  TOOL_CANCELLED,
  TOOL_UNKNOWN
};
const char *tool_status_name(enum tool_status s);

struct tool_result_envelope {
  str tool_call_id, run_id, trace_id, decision_id;
  str capability;  // raw JSON string
  enum tool_status status;
  enum approval_mode effective;  // never APPROVAL_NONE
  str citations;                 // raw JSON elements of an array, or STR_NONE
  str gate;                      // gate that must approve the call, or STR_NONE
  str idempotency_key;           // or STR_NONE
  // The error, unless the status is TOOL_COMPLETED.
  const char *code, *remedy;
  str message, details;  // details: raw JSON object or STR_NONE
  bool retryable;
  uint64_t after_ms;
  unsigned attempts;
  uint64_t took_us;
  str started, completed;                    // times as text
  const struct governance_adapter *adapter;  // NULL if unknown
  str version;  // version (govern/versions.h) that the call used; STR_NONE if it used the adapter's own server
  str span_id, output_hash;  // STR_NONE is written as null
  bool cached;
};

void tool_result_envelope_put(struct buf *out, const struct tool_result_envelope *e);
