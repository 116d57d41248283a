// SPDX-License-Identifier: Apache-2.0
#include "call/report.h"

#include <stdio.h>

#include "base/crypto/hash.h"
#include "base/text/utf8.h"
#include "call/audit_recorder.h"
#include "call/call_journal.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"
#include "result/envelope/fault_forms.h"
#include "text/tokens.h"
#include "json/write.h"

enum { SAMPLE_BYTES = 4096, EVENT_BYTES = 1024 };

enum fault_code call_ended_with(const struct call *c) {
  if (!c->failure) return FAULT_NONE;
  return policy_hidden(c) ? FAULT_DENIED_BY_POLICY : fault_public_code(c->failure->fault.code);
}

// If the call found no server, returns the server that the caller named if it is configured.
str call_ended_at(const struct call *c) {
  const struct upstreams *all = c->context->upstreams;
  const struct call_hidden *hidden = policy_hidden(c);
  unsigned source;
  if (c->route_count) return call_server(c);
  if (hidden) return upstreams_name(all, hidden->source);
  bool named = c->place.server.p && upstreams_find(all, c->place.server, &source);
  return named ? upstreams_name(all, source) : STR_NONE;
}

str call_ended_tool(const struct call *c) {
  const struct call_hidden *hidden = policy_hidden(c);
  if (c->item) return c->item->name;
  return hidden ? hidden->tool : STR_NONE;
}

// ---- the audit line

// Returns the target of a call as the client named it. For calls of tools, audit_tool is used instead.
static str target_of(struct call *c) {
  static const struct {
    enum call_target target;
    str member;
  } members[] = {{CALL_BY_NAME, STR("name")}, {CALL_BY_URI, STR("uri")}, {CALL_BY_TASK, STR("taskId")}};
  const struct json *params = c->request->msg.params, *ref = json_get(params, STR("ref"));
  str text = STR_NONE;
  if (c->method->target == CALL_BY_REF) json_string(json_get(ref, call_ref_member(ref)), &c->request->arena, &text);
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (members[i].target == c->method->target)
      json_string(json_get(params, members[i].member), &c->request->arena, &text);
  return text;
}

// Records the server, the tool, and the decision of the rules about the tool or, if tool.p is NULL, about the server.
static void audit_tool(struct call *c, str server, str tool) {
  audit_recorder_tool(c->request, server, tool);
  if (!caller_is_limited(&c->caller)) return;
  struct policy_decision d = caller_decide(&c->caller, server, tool.p ? ITEM_TOOL : ITEM_RESOURCE, tool);
  audit_recorder_decided(c->request, &d);
}

static void audit_target(struct call *c) {
  struct request *r = c->request;
  const struct call_hidden *hidden = policy_hidden(c);
  bool tool = c->item && c->item->kind == ITEM_TOOL;
  if (c->place.server.p) {
    audit_tool(c, c->place.server, c->place.tool);  // logs the tool's name even if there is no such tool
    return;
  }
  if (tool && find_is_set(c)) return;  // the surface has already recorded the tool
  if (!tool) audit_recorder_target(r, target_of(c));
  if (hidden) audit_tool(c, upstreams_name(c->context->upstreams, hidden->source), hidden->tool);
  if (!c->route_count) return;
  audit_tool(c, call_server(c), call_tool_name(c));
  // without access rules, c->rule names the reason of a refusal
  if (!c->policy || c->method->target != CALL_BY_ONLY) return;
  struct policy_decision d = policy_decide_method(c->policy, c->caller.agent, r->msg.method);
  audit_recorder_decided(r, &d);
}

void call_audit(struct call *c, bool asked) {
  struct request *r = c->request;
  if (!r || !r->note) return;
  unsigned marks = (c->tool_failed ? AUDIT_NOTE_TOOL_ERROR : 0) | (cache_answered(c) ? AUDIT_NOTE_CACHED : 0) |
                   (c->options.dry_run ? AUDIT_NOTE_DRY_RUN : 0) | (asked ? AUDIT_NOTE_ASKED : 0) |
                   (c->sent ? AUDIT_NOTE_SENT : 0);
  audit_recorder_agent(r, c->caller.id.n ? c->caller.id : c->named);
  if (c->route_count) audit_recorder_secrets(r, &call_spec(c)->secrets);
  audit_target(c);
  audit_recorder_mark(r, marks, call_retries(c));
  audit_recorder_trace(r, call_trace_id(c));
  audit_recorder_governed(r, call_decision_id(c));
  if (c->rule.n) audit_recorder_rule(r, c->rule);
  if (c->shown) audit_recorder_shown(r, c->shown);
  else if (c->reply && c->reply->kind == RPC_RESULT && !asked) audit_recorder_shown(r, c->reply->result);
  if (c->failure) audit_recorder_fault(r, fault_public_code(c->failure->fault.code));
}

// ---- metrics

void calls_count_unknown(struct call_context *x, enum fault_code code) {
  if (x->metrics && caller_is_unknown(code)) metrics_count_rejection(x->metrics, REJECTION_UNKNOWN_AGENT);
}

void calls_refused(struct call_context *x, struct request *r, const struct call_refused *c) {
  if (x->metrics) metrics_count_call(x->metrics, &(struct metrics_call){.server = c->server, .code = c->code});
  call_trace_refused(x, r, c);
}

static enum governed_end governed_end(const struct call *c, bool cancelled) {
  enum fault_code code = c->failure ? c->failure->fault.code : FAULT_NONE;
  bool connected = c->sent || code == FAULT_UPSTREAM_UNAVAILABLE;
  if (cancelled) return GOVERNED_CANCELLED;
  if (code == FAULT_UPSTREAM_TIMEOUT) return GOVERNED_TIMEOUT;
  if (code) return connected || c->failure->upstream ? GOVERNED_FAILED : GOVERNED_DENIED;
  return c->tool_failed ? GOVERNED_FAILED : GOVERNED_COMPLETED;
}

static void measure_governed(const struct call *c, const struct metrics_call *m, bool cancelled) {
  const struct governance_capability *capability = call_capability(c);
  if (!capability || c->options.dry_run) return;
  const struct item_hints *hints = c->item ? &c->item->hints : NULL;
  struct governed_call end = {
      .capability = capability,
      .end = governed_end(c, cancelled),
      .answered = m->answered,
      .us = m->us,
      .misclassified = capability->class != CLASS_ACT && hints && hints->destructive && !hints->read_only,
  };
  govern_metrics_call(metrics_governed(c->context->metrics), &end);
}

uint64_t call_took_us(const struct call *c) {
  return c->began_us ? clock_mono_us(c->context->loop->clock) - c->began_us : 0;
}

static void measure(struct call *c, bool cancelled, uint64_t us) {
  struct metrics *m = c->context->metrics;
  if (!m) return;
  enum fault_code code = call_ended_with(c);
  calls_count_unknown(c->context, code);
  struct metrics_call end = {
      .server = call_ended_at(c),
      .code = cancelled ? FAULT_CANCELLED : code,
      .tool_error = c->tool_failed,
      .recalled = cache_answered(c),
      .dry_run = c->options.dry_run,
      .answered = c->sent && !cancelled,
      .us = us,
  };
  metrics_count_call(m, &end);
  if (c->governance) measure_governed(c, &end, cancelled);
}

// Estimates the tokens of a long text from its beginning.
static uint64_t tokens_about(str text) {
  str sample = utf8_cut(text, SAMPLE_BYTES);
  uint64_t n = tokens_count(sample);
  return sample.n < text.n ? n * text.n / sample.n : n;
}

void call_measure_saved(struct call *c, str whole, str shown) {
  struct metrics *m = c->context->metrics;
  if (!m) return;
  uint64_t all = tokens_about(whole), left = tokens_about(shown);
  if (all > left) metrics_count_saved(m, all - left);
}

// ---- the event `execute.completed` or `execute.dry_run`, sent to the log (as a debug message) and to the collector

static void log_event(const struct call *c, str event, const struct trace_field *fields, size_t count, str trace) {
  struct buf line;
  buf_init(&line, 8 * EVENT_BYTES);
  struct json_writer w = json_writer(&line);
  json_begin_object(&w);
  for (size_t i = 0; i < count; i++)
    if (fields[i].value.n) json_member_str(&w, str_of(fields[i].key), utf8_cut(fields[i].value, EVENT_BYTES / 4));
  if (trace.n) json_member_str(&w, STR("trace_id"), trace);
  json_end_object(&w);
  log_debug(c->context->loop->log, "%.*s %.*s", STR_ARG(event), STR_ARG(buf_view(&line)));
  buf_done(&line);
}

static void report_event(struct call *c, bool cancelled) {
  struct call_context *x = c->context;
  bool logged = x->loop->log && x->loop->log->level <= LOG_DEBUG;
  if ((!logged && !x->records) || c->method->kind != ITEM_TOOL) return;
  struct str_digits attempts;
  char ms[32], span[2 * TRACE_SPAN_ID + 1];
  uint64_t us = clock_mono_us(x->loop->clock) - c->began_us;
  enum fault_code code = call_ended_with(c);
  snprintf(ms, sizeof ms, "%llu.%03u", (unsigned long long)(us / 1000), (unsigned)(us % 1000));
  const struct trace_field fields[] = {
      {"tool_id", c->item ? call_tool_id(c) : STR_NONE},
      {"server", call_ended_at(c)},
      {"tool", call_ended_tool(c)},
      {"agent", c->caller.id},
      {"session", {c->session->id, 8}},
      {"outcome", cancelled           ? STR("CANCELLED")
                  : code              ? str_of(fault_name(code))
                  : c->tool_failed    ? STR("tool_error")
                  : cache_answered(c) ? STR("cached")
                                      : STR("ok")},
      {"step", c->failed_in ? str_of(c->failed_in) : STR_NONE},
      {"attempts", str_from_u64(c->options.dry_run ? 0 : call_retries(c) + (c->sent ? 1 : 0), &attempts)},
      {"duration_ms", str_of(ms)},
  };
  size_t count = sizeof fields / sizeof *fields;
  str event = c->options.dry_run ? STR("execute.dry_run") : STR("execute.completed"), trace = call_trace_id(c);
  if (logged) log_event(c, event, fields, count, trace);
  if (!x->records) return;
  hash_hex(call_trace(c)->span, TRACE_SPAN_ID, span);
  struct trace_record record = {.event = event,
                                .failed = cancelled || c->tool_failed || code,
                                .trace = trace,
                                .span = x->tracer ? str_of(span) : STR_NONE,
                                .fields = fields,
                                .count = count,
                                .at_ms = clock_wall_ms(x->loop->clock)};
  tracer_record(x->records, &record);
}

void call_report(struct call *c, bool cancelled) {
  uint64_t us = call_took_us(c);
  if (c->governance) call_journal_ended(c, cancelled, us);
  call_audit(c, false);
  measure(c, cancelled, us);
  call_trace_end(c, cancelled);
  report_event(c, cancelled);
}
