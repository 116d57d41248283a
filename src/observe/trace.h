// SPDX-License-Identifier: Apache-2.0
// Tracing: parses and prints W3C Trace Context (traceparent), and exports spans or log records to an OpenTelemetry
// collector (OTLP over HTTP, in JSON). A tracer sends either spans or records.
//
// Spans are collected and sent in batches from the loop. A slow or unreachable collector never delays a call: spans
// that do not fit into the buffer are dropped and counted.
#pragma once
#include "base/crypto/rand.h"
#include "base/fault.h"
#include "io/loop.h"

enum { TRACE_ID = 16, TRACE_SPAN_ID = 8, TRACE_PARENT_SIZE = 56, TRACE_STATE_MAX = 512 };

struct trace_context {
  unsigned char trace[TRACE_ID], span[TRACE_SPAN_ID];
  bool sampled;
};

// Parses a traceparent header. Returns false if the text is malformed; the caller then ignores the header.
bool trace_parse(str text, struct trace_context *out);
void trace_print(const struct trace_context *c, char out[TRACE_PARENT_SIZE]);

struct tracer;

struct tracer_options {
  struct loop *loop;
  const struct rand_source *rand;
  str url;                   // URL of the collector
  unsigned sample_permille;  // how many of 1000 traces that begin in this gateway are sampled
  bool records;              // send log records instead of spans
};

// Creates a tracer. Returns NULL on failure, with a reason in f.
struct tracer *tracer_new(const struct tracer_options *opt, struct fault *f);
void tracer_free(struct tracer **t);  // drops spans that were not sent

// Sends the remaining spans and frees the tracer after at most `ms` milliseconds. Then calls `closed` from the loop.
void tracer_close(struct tracer **t, uint64_t ms, void (*closed)(void *ctx), void *ctx);

// Returns the context of a new span, in the trace of `parent` or, if `parent` is NULL, in a new trace.
struct trace_context tracer_begin(struct tracer *t, const struct trace_context *parent);

struct trace_span {
  struct trace_context self;
  const unsigned char *parent;  // the caller's span; NULL if the trace begins here
  str method, tool, server, agent, session;
  // Data of a governed call; STR_NONE if the call is not governed.
  str decision_id, mode, capability, adapter, tenant;
  bool provisional;  // class and mode of the capability follow hints of the server
  unsigned attempts;
  const char *error;  // the code of the fault with which the call failed; NULL on success
  const char *step;   // the pipeline step in which the call failed; NULL on success
  int64_t began_ms;   // since 1970
  uint64_t took_us;
};
// Ends a span: copies its data for a later batch. Ignores a span that is not sampled.
void tracer_end(struct tracer *t, const struct trace_span *span);

struct trace_record {
  str event;        // name of the event
  bool failed;      // the record has severity WARN instead of INFO
  str trace, span;  // ids in hex; STR_NONE if the record is not part of a trace
  const struct trace_field {
    const char *key;
    str value;  // value of the attribute; STR_NONE if the attribute is left out
  } * fields;
  size_t count;
  int64_t at_ms;  // since 1970
};
void tracer_record(struct tracer *t, const struct trace_record *record);  // copies the record

void tracer_flush(struct tracer *t);  // sends the collected items, unless a batch is in flight
uint64_t tracer_dropped(const struct tracer *t);
