// SPDX-License-Identifier: Apache-2.0
#include "govern/tool_envelopes.h"

#include "json/put.h"

// A denied call may have no mode: then the highest risk is assumed.
static str mode_text(enum approval_mode mode) {
  return approval_mode_text(mode == APPROVAL_NONE ? APPROVAL_DESTRUCTIVE : mode);
}

// ---- the call

static void put_evidence(struct buf *out, const struct governance_decision *d) {
  JSON_PUT(out, ",\"evidence_refs\":[");
  for (size_t i = 0; i < d->match_count; i++) {
    if (i) buf_char(out, ',');
    buf_str(out, d->matches[i]->evidence);
  }
  buf_char(out, ']');
}

void tool_call_envelope_put(struct buf *out, const struct tool_call_envelope *e) {
  enum approval_mode requested = e->requested.p ? approval_mode_find(e->requested) : APPROVAL_NONE;
  JSON_PUT_ID(out, "{\"envelope_version\":\"contextos.tool_call.v1\",\"tool_call_id\":", e->tool_call_id);
  JSON_PUT_TEXT(out, ",\"run_id\":", e->run_id);
  JSON_PUT_ID(out, ",\"trace_id\":", e->trace_id);
  if (e->session_id.p) JSON_PUT_ID(out, ",\"session_id\":", e->session_id);
  JSON_PUT_RAW(out, ",\"capability_id\":", e->capability);
  JSON_PUT_ID(out, ",\"approval_mode_requested\":", mode_text(requested == APPROVAL_NONE ? e->highest : requested));
  JSON_PUT_ID(out, ",\"approval_mode_effective\":", mode_text(e->effective));
  JSON_PUT_ID(out, ",\"approval_mode_highest\":", mode_text(e->highest));
  JSON_PUT_ID(out, ",\"policy_decision_id\":", e->decision_id);
  JSON_PUT_RAW(out, ",\"args\":", e->args);
  JSON_PUT_RAW(out, ",\"principal_chain\":", e->principals);
  put_evidence(out, e->decision);
  JSON_PUT_TEXT(out, ",\"idempotency_key\":", e->idempotency_key);
  JSON_PUT_TEXT(out, ",\"auth_ref\":", e->auth_ref);
  JSON_PUT_ID(out, ",\"metadata\":{\"arguments\":", str_of(e->arguments));
  if (e->args_digest) JSON_PUT_ID(out, ",\"arguments_digest\":", str_of(e->args_digest));
  if (e->requested.p && requested == APPROVAL_NONE) JSON_PUT_TEXT(out, ",\"mode_requested\":", e->requested);
  JSON_PUT(out, "}}");
}

static enum approval_mode mode_of(const struct json *envelope, str key) {
  const struct json *v = json_get(envelope, key);
  return json_is(v, JSON_STRING) ? approval_mode_find((str){v->p + 1, v->n - 2}) : APPROVAL_NONE;
}

bool tool_call_envelope_check(const struct json *envelope, struct fault *f) {
  const struct json *own = json_get(envelope, STR("idempotency_key"));
  const struct json *arg = json_get(json_get(envelope, STR("args")), STR("idempotency_key"));
  bool both = own && arg && !json_is(own, JSON_NULL) && !json_is(arg, JSON_NULL);
  if (both && !json_same(own, arg)) {
    fault_set(f, FAULT_INVALID, "IDEMPOTENCY_KEY_MISMATCH: args.idempotency_key differs from idempotency_key");
    return false;
  }
  if (mode_of(envelope, STR("approval_mode_effective")) > mode_of(envelope, STR("approval_mode_highest"))) {
    fault_set(f, FAULT_INVALID, "MODE_EXCEEDS_MAXIMUM: approval_mode_effective is above approval_mode_highest");
    return false;
  }
  return true;
}

// ---- the result

const char *tool_status_name(enum tool_status s) {
  static const char *const names[] = {"completed", "failed",    "denied", "approval_required",
                                      "timeout",   "cancelled", "unknown"};
  ASSERT((size_t)s < sizeof names / sizeof *names);
  return names[s];
}

static void put_error(struct buf *out, const struct tool_result_envelope *e) {
  if (e->status == TOOL_COMPLETED) {
    JSON_PUT(out, ",\"error\":null");
    return;
  }
  JSON_PUT_ID(out, ",\"error\":{\"code\":", str_of(e->code));
  JSON_PUT_TEXT(out, ",\"message\":", e->message);
  if (e->retryable) JSON_PUT(out, ",\"retryable\":true");
  else JSON_PUT(out, ",\"retryable\":false");
  if (e->after_ms) {
    JSON_PUT(out, ",\"retry_after_ms\":");
    buf_u64(out, e->after_ms);
  }
  JSON_PUT_TEXT(out, ",\"remediation\":", str_of(e->remedy));
  if (e->details.p) JSON_PUT_RAW(out, ",\"details\":", e->details);
  buf_char(out, '}');
}

static void put_adapter(struct buf *out, const struct governance_adapter *a, str used) {
  if (!a) return;
  str version = used.p ? used : a->version;
  JSON_PUT_TEXT(out, ",\"adapter\":{\"id\":", a->adapter_id);
  if (version.p) JSON_PUT_TEXT(out, ",\"version\":", version);
  if (a->protocol.p) JSON_PUT_TEXT(out, ",\"protocol\":", a->protocol);
  if (a->protocol_version.p) JSON_PUT_TEXT(out, ",\"protocol_version\":", a->protocol_version);
  buf_char(out, '}');
}

static void put_approval(struct buf *out, const struct tool_result_envelope *e) {
  if (e->gate.p) JSON_PUT_TEXT(out, ",\"approval\":{\"gate_id\":", e->gate);
  else JSON_PUT(out, ",\"approval\":null");
  if (e->gate.p) buf_char(out, '}');
  if (e->idempotency_key.p) JSON_PUT_TEXT(out, ",\"idempotency\":{\"key\":", e->idempotency_key);
  else JSON_PUT(out, ",\"idempotency\":null");
  if (e->idempotency_key.p) JSON_PUT(out, ",\"replayed\":false}");
}

static void put_latency(struct buf *out, uint64_t us) {
  unsigned rest = (unsigned)(us % 1000);
  char fraction[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
  JSON_PUT(out, ",\"latency_ms\":");
  buf_u64(out, us / 1000);
  buf_add(out, fraction, sizeof fraction);
}

void tool_result_envelope_put(struct buf *out, const struct tool_result_envelope *e) {
  JSON_PUT_ID(out, "{\"envelope_version\":\"contextos.tool_result.v1\",\"tool_call_id\":", e->tool_call_id);
  JSON_PUT_TEXT(out, ",\"run_id\":", e->run_id);
  JSON_PUT_ID(out, ",\"trace_id\":", e->trace_id);
  JSON_PUT_RAW(out, ",\"capability_id\":", e->capability);
  JSON_PUT_ID(out, ",\"status\":", str_of(tool_status_name(e->status)));
  JSON_PUT(out, ",\"output\":null,\"citations\":[");  // null, because the answer to the client contains the output
  buf_str(out, e->citations);
  JSON_PUT_ID(out, "],\"mutations\":[],\"evidence_refs\":[],\"approval_mode_effective\":", mode_text(e->effective));
  put_approval(out, e);
  JSON_PUT_ID(out, ",\"policy_decision_id\":", e->decision_id);
  put_error(out, e);
  JSON_PUT(out, ",\"attempts\":");
  buf_u64(out, e->attempts);
  put_latency(out, e->took_us);
  JSON_PUT_ID(out, ",\"started_at\":", e->started);
  JSON_PUT_ID(out, ",\"completed_at\":", e->completed);
  put_adapter(out, e->adapter, e->version);
  JSON_PUT_TEXT(out, ",\"span_id\":", e->span_id);
  if (e->output_hash.p) JSON_PUT_ID(out, ",\"output_hash\":", e->output_hash);
  else JSON_PUT(out, ",\"output_hash\":null");
  if (e->cached) JSON_PUT(out, ",\"metadata\":{\"cache_hit\":true}");
  buf_char(out, '}');
}
