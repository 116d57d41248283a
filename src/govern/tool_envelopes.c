// SPDX-License-Identifier: Apache-2.0
#include "govern/tool_envelopes.h"

#include <stdio.h>

#include "base/clock.h"

static void put_mode(struct json_writer *w, str key, enum approval_mode mode) {
  // A denied call may have no mode: then the highest risk is assumed.
  json_member_str(w, key, str_of(approval_mode_name(mode == APPROVAL_NONE ? APPROVAL_DESTRUCTIVE : mode)));
}

// ---- the call

// Writes a reference to each permission and rule that matched: "permission:ID", or "policy:BUNDLE#RULE".
static void put_evidence(struct json_writer *w, const struct tool_call_envelope *e) {
  json_put_key(w, STR("evidence_refs"));
  json_begin_array(w);
  for (size_t i = 0; i < e->decision->match_count; i++) {
    const struct governance_match *m = &e->decision->matches[i];
    str bundle = governance_bundle_of(e->governance, m->pointer);
    char text[2 * GOVERNANCE_ID_MAX + 32];
    int n = bundle.p ? snprintf(text, sizeof text, "policy:%.*s#%.*s", STR_ARG(bundle), STR_ARG(m->id))
                     : snprintf(text, sizeof text, "permission:%.*s", STR_ARG(m->id));
    ASSERT(n > 0 && (size_t)n < sizeof text);
    json_put_str(w, (str){text, (size_t)n});
  }
  json_end_array(w);
}

static void put_metadata(struct json_writer *w, const struct tool_call_envelope *e) {
  json_put_key(w, STR("metadata"));
  json_begin_object(w);
  json_member_str(w, STR("arguments"), str_of(e->arguments));
  if (e->args_digest) json_member_str(w, STR("arguments_digest"), str_of(e->args_digest));
  if (e->requested.p && approval_mode_find(e->requested) == APPROVAL_NONE)
    json_member_str(w, STR("mode_requested"), e->requested);
  json_end_object(w);
}

void tool_call_envelope_put(struct json_writer *w, const struct tool_call_envelope *e) {
  enum approval_mode requested = e->requested.p ? approval_mode_find(e->requested) : APPROVAL_NONE;
  json_begin_object(w);
  json_member_str(w, STR("envelope_version"), STR("contextos.tool_call.v1"));
  json_member_str(w, STR("tool_call_id"), e->tool_call_id);
  json_member_str(w, STR("run_id"), e->run_id);
  json_member_str(w, STR("trace_id"), e->trace_id);
  if (e->session_id.p) json_member_str(w, STR("session_id"), e->session_id);
  json_member_str(w, STR("capability_id"), e->capability_id);
  put_mode(w, STR("approval_mode_requested"), requested == APPROVAL_NONE ? e->highest : requested);
  put_mode(w, STR("approval_mode_effective"), e->effective == APPROVAL_NONE ? e->highest : e->effective);
  put_mode(w, STR("approval_mode_highest"), e->highest);
  json_member_str_or_null(w, STR("policy_decision_id"), e->decision_id);
  json_member_raw(w, STR("args"), e->args);
  json_member_raw(w, STR("principal_chain"), e->principals);
  put_evidence(w, e);
  json_member_str_or_null(w, STR("idempotency_key"), e->idempotency_key);
  json_member_str_or_null(w, STR("auth_ref"), e->auth_ref);
  put_metadata(w, e);
  json_end_object(w);
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

static void put_time(struct json_writer *w, str key, int64_t wall_ms) {
  char text[CLOCK_TEXT];
  size_t n = clock_print(wall_ms, text);
  json_member_str(w, key, (str){text, n});
}

static void put_error(struct json_writer *w, const struct tool_result_envelope *e) {
  json_put_key(w, STR("error"));
  if (e->status == TOOL_COMPLETED) {
    json_put_null(w);
    return;
  }
  json_begin_object(w);
  json_member_str(w, STR("code"), str_of(e->code));
  json_member_str(w, STR("message"), e->message);
  json_member_bool(w, STR("retryable"), e->retryable);
  if (e->after_ms) json_member_u64(w, STR("retry_after_ms"), e->after_ms);
  json_member_str(w, STR("remediation"), str_of(e->remedy));
  if (e->details.p) json_member_raw(w, STR("details"), e->details);
  json_end_object(w);
}

static void put_adapter(struct json_writer *w, const struct governance_adapter *a) {
  if (!a) return;
  json_put_key(w, STR("adapter"));
  json_begin_object(w);
  json_member_str(w, STR("id"), a->adapter_id);
  if (a->version.p) json_member_str(w, STR("version"), a->version);
  if (a->protocol.p) json_member_str(w, STR("protocol"), a->protocol);
  if (a->protocol_version.p) json_member_str(w, STR("protocol_version"), a->protocol_version);
  json_end_object(w);
}

static void put_approval(struct json_writer *w, const struct tool_result_envelope *e) {
  json_put_key(w, STR("approval"));
  if (e->gate.p) {
    json_begin_object(w);
    json_member_str(w, STR("gate_id"), e->gate);
    json_end_object(w);
  } else {
    json_put_null(w);
  }
  json_put_key(w, STR("idempotency"));
  if (e->idempotency_key.p) {
    json_begin_object(w);
    json_member_str(w, STR("key"), e->idempotency_key);
    json_member_bool(w, STR("replayed"), false);
    json_end_object(w);
  } else {
    json_put_null(w);
  }
}

static void put_latency(struct json_writer *w, uint64_t us) {
  char text[32];
  int n = snprintf(text, sizeof text, "%llu.%03u", (unsigned long long)(us / 1000), (unsigned)(us % 1000));
  json_member_raw(w, STR("latency_ms"), (str){text, (size_t)n});
}

void tool_result_envelope_put(struct json_writer *w, const struct tool_result_envelope *e) {
  json_begin_object(w);
  json_member_str(w, STR("envelope_version"), STR("contextos.tool_result.v1"));
  json_member_str(w, STR("tool_call_id"), e->tool_call_id);
  json_member_str(w, STR("run_id"), e->run_id);
  json_member_str(w, STR("trace_id"), e->trace_id);
  json_member_str(w, STR("capability_id"), e->capability_id);
  json_member_str(w, STR("status"), str_of(tool_status_name(e->status)));
  json_member_raw(w, STR("output"), STR("null"));  // the result itself has it
  json_put_key(w, STR("citations"));
  json_begin_array(w);
  if (e->citations.n) json_put_raw(w, e->citations);
  json_end_array(w);
  json_member_raw(w, STR("mutations"), STR("[]"));
  json_member_raw(w, STR("evidence_refs"), STR("[]"));
  put_mode(w, STR("approval_mode_effective"), e->effective);
  put_approval(w, e);
  json_member_str_or_null(w, STR("policy_decision_id"), e->decision_id);
  put_error(w, e);
  json_member_u64(w, STR("attempts"), e->attempts);
  put_latency(w, e->took_us);
  put_time(w, STR("started_at"), e->started_ms);
  put_time(w, STR("completed_at"), e->completed_ms);
  put_adapter(w, e->adapter);
  json_member_str_or_null(w, STR("span_id"), e->span_id);
  json_member_str_or_null(w, STR("output_hash"), e->output_hash);
  if (e->cached) json_member_raw(w, STR("metadata"), STR("{\"cache_hit\":true}"));
  json_end_object(w);
}
