// SPDX-License-Identifier: Apache-2.0
// Traces: which request a call belongs to, as W3C Trace Context tells it (traceparent), and spans and log records for a
// collector of OpenTelemetry (OTLP over HTTP, in JSON). A tracer sends one or the other.
//
// Spans are gathered and sent from the loop, some at a time. A collector that is slow or away costs spans, never a
// call: so many are kept, and what comes beyond is counted and dropped.
#pragma once
#include "base/crypto/rand.h"
#include "base/fault.h"
#include "io/loop.h"

enum { TRACE_ID = 16, TRACE_SPAN_ID = 8, TRACE_PARENT_SIZE = 56, TRACE_STATE_MAX = 512 };

struct trace_context {
  unsigned char trace[TRACE_ID], span[TRACE_SPAN_ID];
  bool sampled;
};

// False: it is no traceparent, and is to be ignored.
bool trace_parse(str text, struct trace_context *out);
void trace_print(const struct trace_context *c, char out[TRACE_PARENT_SIZE]);

struct tracer;

struct tracer_options {
  struct loop *loop;
  const struct rand_source *rand;
  str url;                   // of the collector
  unsigned sample_permille;  // of those traces that begin here
  bool records;              // it sends log records, not spans
};

// NULL: f says why.
struct tracer *tracer_new(const struct tracer_options *opt, struct fault *f);
void tracer_free(struct tracer **t);  // what was not sent is lost

// Sends what there is, waits for that, at most so long, and frees it: then `closed` is called, from the loop.
void tracer_close(struct tracer **t, uint64_t ms, void (*closed)(void *ctx), void *ctx);

// Our own part of a trace: of the caller's (NULL: it has none, and one begins).
struct trace_context tracer_begin(struct tracer *t, const struct trace_context *parent);

struct trace_span {
  struct trace_context self;
  const unsigned char *parent;  // the caller's span; NULL: it begins here
  str method, tool, server, agent, session;
  const char *error;  // the code of a fault; NULL: none
  const char *step;   // of the pipeline, in which a call failed; NULL: it did not
  int64_t began_ms;   // since 1970
  uint64_t took_us;
};
void tracer_end(struct tracer *t, const struct trace_span *span);  // copies; nothing, if it is not sampled

struct trace_record {
  str event;        // its name
  bool failed;      // it is a warning
  str trace, span;  // hex; STR_NONE: it belongs to none
  const struct trace_field {
    const char *key;
    str value;  // STR_NONE: left out
  } * fields;
  size_t count;
  int64_t at_ms;  // since 1970
};
void tracer_record(struct tracer *t, const struct trace_record *record);  // copies

void tracer_flush(struct tracer *t);  // sends what there is
uint64_t tracer_dropped(const struct tracer *t);
