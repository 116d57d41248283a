// SPDX-License-Identifier: Apache-2.0
// The trace of a call. The client names the trace in _meta or in HTTP headers (traceparent, tracestate). The server
// gets the same trace. If the gateway sends spans to a collector, the gateway's span becomes the parent of the server's
// span.
#include "base/crypto/hash.h"
#include "call/report.h"
#include "call/steps/steps.h"
#include "observe/trace.h"

struct trace_state {
  struct trace_context self, parent;
  bool traced;       // the client named the parent span
  int64_t began_at;  // wall-clock time in ms since 1970
};

const struct call_step step_trace = {
    .name = "trace",
    .does = "Makes the span of the call, for a collector.",
    .state = sizeof(struct trace_state),
};

static struct trace_state *state_of(const struct call *c) {
  return call_state(c, STEP_TRACE);
}

const struct trace_context *call_trace(const struct call *c) {
  return &state_of(c)->self;
}

// Returns a value of the trace context from _meta or, if it is missing, from the HTTP header. _meta is preferred,
// because a proxy may have changed the header.
static str value_of(struct request *r, str key, str header) {
  str text = STR_NONE;
  json_string(json_get(json_get(r->msg.params, STR("_meta")), key), &r->arena, &text);
  return text.p ? text : header;
}

static str parent_of(struct request *r) {
  return value_of(r, STR("traceparent"), r->traceparent);
}

// Sets *out to the trace that the server receives. Returns false if the call has no trace.
static bool current(struct call *c, struct trace_context *out) {
  *out = state_of(c)->self;
  return c->context->tracer || trace_parse(parent_of(c->request), out);
}

void call_trace_begin(struct call *c) {
  struct tracer *t = c->context->tracer;
  if (!t) return;
  str text = parent_of(c->request);
  struct trace_state *s = state_of(c);
  s->traced = text.n && trace_parse(text, &s->parent);
  s->self = tracer_begin(t, s->traced ? &s->parent : NULL);
  s->began_at = clock_wall_ms(c->context->loop->clock);
}

// Returns whether a tracestate can be sent as an HTTP header: printable ASCII of limited length.
static bool is_state(str text) {
  for (size_t i = 0; i < text.n; i++)
    if (text.p[i] < 0x20 || text.p[i] > 0x7e) return false;
  return text.n > 0 && text.n <= TRACE_STATE_MAX;
}

bool call_trace_out(struct call *c, struct call_trace *out) {
  struct arena *a = &c->request->arena;
  struct trace_context trace;
  char text[TRACE_PARENT_SIZE];
  if (!current(c, &trace)) return false;
  trace_print(&trace, text);
  str state = value_of(c->request, STR("tracestate"), c->request->tracestate);
  *out = (struct call_trace){arena_str(a, str_of(text)), is_state(state) ? state : STR_NONE};
  return true;
}

str call_trace_id(struct call *c) {
  char hex[2 * TRACE_ID + 1];
  struct trace_context trace;
  if (!current(c, &trace)) return STR_NONE;
  hash_hex(trace.trace, TRACE_ID, hex);
  return arena_str(&c->request->arena, (str){hex, 2 * TRACE_ID});
}

void call_trace_headers(struct call *c, str *headers) {
  struct call_trace out;
  struct arena *a = &c->request->arena;
  if ((!c->context->tracer && !c->request->traceparent.n && !json_get(c->request->msg.params, STR("_meta"))) ||
      !call_trace_out(c, &out))
    return;
  str more = out.state.n ? arena_printf(a, "tracestate: %.*s\r\n", STR_ARG(out.state)) : STR("");
  *headers = arena_printf(a, "%.*straceparent: %.*s\r\n%.*s", STR_ARG(*headers), STR_ARG(out.parent), STR_ARG(more));
}

// Adds what governance decided about the call.
static void add_governed(struct call *c, struct trace_span *span) {
  const struct governance_capability *capability = call_capability(c);
  enum approval_mode mode = call_mode(c);
  span->decision_id = call_decision_id(c);
  span->attempts = c->sent ? call_retries(c) + 1 : 0;
  if (capability) {
    span->capability = capability->id;
    span->adapter = capability->adapter->adapter_id;
    span->provisional = capability->provisional;
  }
  if (mode != APPROVAL_NONE) span->mode = str_of(approval_mode_name(mode));
  if (c->run && c->request)
    json_string(json_get(c->run->governed.context, STR("tenant")), &c->request->arena, &span->tenant);
}

void call_trace_end(struct call *c, bool cancelled) {
  const struct trace_state *s = state_of(c);
  if (!c->context->tracer || !s->self.sampled) return;
  enum fault_code code = call_ended_with(c);
  const char *error = cancelled ? "CANCELLED" : code ? fault_name(code) : c->tool_failed ? "tool_error" : NULL;
  struct trace_span span = {
      .self = s->self,
      .parent = s->traced ? s->parent.span : NULL,
      .method = str_of(c->method->name),
      .tool = call_ended_tool(c),
      .server = call_ended_at(c),
      .agent = c->caller.id,
      .session = str_of(c->session->id),
      .error = error,
      .step = c->failed_in,
      .began_ms = s->began_at,
      .took_us = clock_mono_us(c->context->loop->clock) - c->began_us,
  };
  add_governed(c, &span);
  tracer_end(c->context->tracer, &span);
}

void call_trace_refused(struct call_context *x, struct request *r, const struct call_refused *c) {
  struct trace_context parent;
  if (!x->tracer) return;
  str text = parent_of(r);
  bool traced = text.n && trace_parse(text, &parent);
  struct trace_span span = {
      .self = tracer_begin(x->tracer, traced ? &parent : NULL),
      .parent = traced ? parent.span : NULL,
      .method = r->msg.method,
      .tool = c->tool,
      .server = c->server,
      .agent = c->agent,
      .session = str_of(r->session->id),
      .error = fault_name(c->code),
      .began_ms = clock_wall_ms(x->loop->clock),
  };
  tracer_end(x->tracer, &span);
}
