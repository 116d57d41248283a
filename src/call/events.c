// SPDX-License-Identifier: Apache-2.0
// Diagnostics of tool calls for operators: each that is over is an event, `execute.completed` or `execute.dry_run`, as
// a line of the log (at level debug) and as a log record for a collector.
#include <stdio.h>

#include "base/crypto/hash.h"
#include "base/text/utf8.h"
#include "call/about.h"
#include "call/call_metrics.h"
#include "call/events.h"
#include "call/steps/step_trace.h"
#include "observe/trace.h"
#include "json/write.h"

enum { EVENT_BYTES = 1024, FIELDS = 10 };

struct numbers {
  struct str_digits attempts;
  char ms[32];
};

static str outcome_of(const struct call *c, bool cancelled) {
  enum fault_code code = call_ended_with(c);
  if (cancelled) return STR("CANCELLED");
  if (code) return str_of(fault_name(code));
  return c->tool_failed ? STR("tool_error") : c->recalled ? STR("cached") : STR("ok");
}

static size_t put_fields(struct call *c, bool cancelled, struct numbers *room, struct trace_field out[FIELDS]) {
  uint64_t us = clock_mono_us(c->context->loop->clock) - c->began_us;
  snprintf(room->ms, sizeof room->ms, "%llu.%03u", (unsigned long long)(us / 1000), (unsigned)(us % 1000));
  const struct trace_field fields[] = {
      {"tool_id", c->item ? call_tool_id(c) : STR_NONE},
      {"server", call_ended_at(c)},
      {"tool", c->item     ? c->item->name
               : c->hidden ? c->hidden->tool
                           : STR_NONE},
      {"agent", c->caller.id},
      {"session", {c->session->id, 8}},
      {"outcome", outcome_of(c, cancelled)},
      {"step", c->failed_in ? str_of(c->failed_in) : STR_NONE},
      {"attempts", str_from_u64(c->options.dry_run ? 0 : c->attempts + (c->sent ? 1 : 0), &room->attempts)},
      {"duration_ms", str_of(room->ms)},
  };
  memcpy(out, fields, sizeof fields);
  return sizeof fields / sizeof *fields;
}

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

void call_event(struct call *c, bool cancelled) {
  struct call_context *x = c->context;
  bool logged = x->loop->log && x->loop->log->level <= LOG_DEBUG;
  if ((!logged && !x->records) || c->method->kind != ITEM_TOOL) return;
  struct trace_field fields[FIELDS];
  struct numbers room;
  char span[2 * TRACE_SPAN_ID + 1];
  str event = c->options.dry_run ? STR("execute.dry_run") : STR("execute.completed");
  str trace = call_trace_id(c);
  size_t count = put_fields(c, cancelled, &room, fields);
  if (logged) log_event(c, event, fields, count, trace);
  if (!x->records) return;
  hash_hex(call_trace(c)->span, TRACE_SPAN_ID, span);
  struct trace_record record = {.event = event,
                                .failed = cancelled || c->tool_failed || call_ended_with(c),
                                .trace = trace,
                                .span = x->tracer ? str_of(span) : STR_NONE,
                                .fields = fields,
                                .count = count,
                                .at_ms = clock_wall_ms(x->loop->clock)};
  tracer_record(x->records, &record);
}
