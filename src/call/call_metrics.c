// SPDX-License-Identifier: Apache-2.0
// What is counted of a call when it and its request part, or the client gives up.
#include "call/call_metrics.h"
#include "base/text/utf8.h"
#include "call/about.h"
#include "call/steps/step_trace.h"
#include "observe/metrics.h"
#include "result/envelope/fault_forms.h"
#include "text/tokens.h"

enum { SAMPLE_BYTES = 4096 };

enum fault_code call_ended_with(const struct call *c) {
  if (!c->failure) return FAULT_NONE;
  return c->hidden ? FAULT_DENIED_BY_POLICY : fault_told_as(c->failure->fault.code);
}

// A server that its caller names, be there one or not, counts only if there is.
str call_ended_at(const struct call *c) {
  const struct upstreams *all = c->context->upstreams;
  unsigned source;
  if (c->route_count) return call_server(c);
  if (c->hidden) return upstreams_name(all, c->hidden->source);
  bool named = c->place.server.p && upstreams_find(all, c->place.server, &source);
  return named ? upstreams_name(all, source) : STR_NONE;
}

void calls_count_unknown(struct call_context *x, enum fault_code code) {
  if (x->metrics && caller_is_unknown(code)) metrics_count_rejection(x->metrics, REJECTION_UNKNOWN_AGENT);
}

void calls_refused(struct call_context *x, struct request *r, const struct call_refused *c) {
  if (x->metrics) metrics_count_call(x->metrics, &(struct metrics_call){.server = c->server, .code = c->code});
  call_trace_refused(x, r, c);
}

void call_measure(struct call *c, bool cancelled) {
  struct metrics *m = c->context->metrics;
  if (!m) return;
  enum fault_code code = call_ended_with(c);
  calls_count_unknown(c->context, code);
  struct metrics_call end = {
      .server = call_ended_at(c),
      .code = cancelled ? FAULT_CANCELLED : code,
      .tool_error = c->tool_failed,
      .recalled = c->recalled,
      .dry_run = c->options.dry_run,
      .answered = c->sent && !cancelled,
      .us = clock_mono_us(c->context->loop->clock) - c->began_us,
  };
  metrics_count_call(m, &end);
}

// Of a long text as many for each byte as its beginning has.
static uint64_t tokens_about(str text) {
  str sample = utf8_cut(text, SAMPLE_BYTES);
  uint64_t n = tokens_count(sample);
  return sample.n < text.n ? n * text.n / sample.n : n;
}

void call_measure_saved(struct call *c, str whole, str shown) {
  struct metrics *m = c->context->metrics;
  if (!m) return;
  uint64_t all = tokens_about(whole), told = tokens_about(shown);
  if (all > told) metrics_count_saved(m, all - told);
}
