// SPDX-License-Identifier: Apache-2.0
// Which trace a call belongs to: its client says so in _meta, or in the headers of its request. Its server is told the
// same, with our own span between the two when spans are sent to a collector.
#pragma once
#include "call/pipeline.h"

struct call_trace {
  str parent, state;  // traceparent, tracestate; state may be STR_NONE
};
void call_trace_begin(struct call *c);
bool call_trace_out(struct call *c, struct call_trace *out);  // what its server is told; false: nothing
void call_trace_headers(struct call *c);                      // the same, added to c->link's
void call_trace_end(struct call *c, bool cancelled);          // its request is about to be answered, or was given up
void call_trace_refused(struct call_context *x, struct request *r, const struct call_refused *c);
const struct trace_context *call_trace(const struct call *c);  // zero if there is no tracer
str call_trace_id(struct call *c);                             // in hex; STR_NONE: it belongs to none
