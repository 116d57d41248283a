// SPDX-License-Identifier: Apache-2.0
// What is counted of a call when it and its request part, or the client gives up.
#include "base/utf8.h"
#include "call/bridge.h"
#include "observe/metrics.h"
#include "result/fault_forms.h"
#include "text/tokens.h"

enum { SAMPLE_BYTES = 4096 };

void call_measure(struct call *c, bool cancelled) {
  struct metrics *m = c->context->metrics;
  if (!m) return;
  enum fault_code code = c->failure ? fault_told_as(c->failure->fault.code) : FAULT_NONE;
  struct metrics_call end = {
      .server = c->route_count ? call_server(c) : STR_NONE,
      .code = cancelled ? FAULT_CANCELLED : code,
      .tool_error = c->tool_failed,
      .recalled = c->recalled,
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
