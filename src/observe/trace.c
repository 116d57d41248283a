// SPDX-License-Identifier: Apache-2.0
#include "observe/trace.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "io/http/outgoing.h"
#include "json/write.h"

enum {
  FLUSH_MS = 2000,
  SEND_MS = 10000,
  SPANS_AT_ONCE = 512,
  SPANS_BYTES = 1 << 20,  // size of the buffer
  TEXT_BYTES = 256,       // maximum size of an attribute
  SPAN_BYTES = 16 << 10,  // maximum size of a span
};

// ---- traceparent: 00-<32 hex>-<16 hex>-<2 hex>

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(str text, size_t at, unsigned char *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int high = hex_value(text.p[at + 2 * i]), low = hex_value(text.p[at + 2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = (unsigned char)(high << 4 | low);
  }
  return true;
}

static bool any_bit(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (p[i]) return true;
  return false;
}

bool trace_parse(str text, struct trace_context *out) {
  enum { LENGTH = TRACE_PARENT_SIZE - 1, TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53 };
  unsigned char version, flags;
  if (text.n < LENGTH || text.p[2] != '-' || text.p[SPAN_AT - 1] != '-' || text.p[FLAGS_AT - 1] != '-') return false;
  if (!read_hex(text, 0, &version, 1) || !read_hex(text, FLAGS_AT, &flags, 1)) return false;
  if (!read_hex(text, TRACE_AT, out->trace, TRACE_ID) || !read_hex(text, SPAN_AT, out->span, TRACE_SPAN_ID))
    return false;
  // In versions of the header other than 00, a dash and further fields may follow.
  bool whole = text.n == LENGTH || (version > 0 && text.p[LENGTH] == '-');
  out->sampled = flags & 1;
  return whole && version != 0xff && any_bit(out->trace, TRACE_ID) && any_bit(out->span, TRACE_SPAN_ID);
}

void trace_print(const struct trace_context *c, char out[TRACE_PARENT_SIZE]) {
  memcpy(out, "00-", 3);
  hash_hex(c->trace, TRACE_ID, out + 3);
  out[35] = '-';
  hash_hex(c->span, TRACE_SPAN_ID, out + 36);
  memcpy(out + 52, c->sampled ? "-01" : "-00", 4);
}

// ---- the tracer

#define RESOURCE \
  "{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"toolgate\"}},{\"key\":" \
  "\"service.version\",\"value\":{\"stringValue\":\"" TOOLGATE_VERSION "\"}}]},"
#define SCOPE "[{\"scope\":{\"name\":\"toolgate\"},"

static const struct form {
  const char *name, *items;
  const char *head;  // start of a request body, up to the first item
} forms[] = {
    {"traces", "spans", "{\"resourceSpans\":[" RESOURCE "\"scopeSpans\":" SCOPE "\"spans\":["},
    {"logs", "records", "{\"resourceLogs\":[" RESOURCE "\"scopeLogs\":" SCOPE "\"logRecords\":["},
};

struct tracer {
  struct tracer_options opt;
  const struct form *form;
  struct outgoing outgoing;
  struct timer flush;
  struct buf spans;  // collected spans, separated by commas
  size_t count;      // number of collected spans
  size_t sent;       // number of spans in flight
  bool failing;      // the last batch failed, which was logged
  uint64_t dropped;
  struct deferred end;        // frees the tracer after the last batch
  struct timer last;          // limits the time to close
  void (*closed)(void *ctx);  // set by tracer_close
  void *ctx;
};

static void arm(struct tracer *t) {
  if (t->count && !t->sent && !timer_running(&t->flush)) timer_start(t->opt.loop, &t->flush, FLUSH_MS);
}

// Sends the next batch of remaining spans. If no span remains or the last batch failed, frees the tracer later, from
// the event loop.
static void continue_close(struct tracer *t) {
  ASSERT(t->closed && !t->sent);
  if (t->count && !t->failing) tracer_flush(t);
  else loop_defer(t->opt.loop, &t->end);
}

// Called when a batch was sent (`why` is NULL) or has failed. A failed batch is not sent again: it would arrive out of
// order, and spans would fill the buffer meanwhile.
static void sent(struct tracer *t, const char *why) {
  ASSERT(t->sent);
  if (why) {
    if (!t->failing)
      log_warn(t->opt.loop->log, "%s: cannot send to %.*s: %s; %s are dropped", t->form->name, STR_ARG(t->opt.url), why,
               t->form->items);
    t->dropped += t->sent;
  } else if (t->failing) {
    log_info(t->opt.loop->log, "%s: %.*s accepts %s again", t->form->name, STR_ARG(t->opt.url), t->form->items);
  }
  t->failing = why != NULL;
  t->sent = 0;
  if (t->closed) continue_close(t);
  else arm(t);
}

static void on_back(struct outgoing *e, const struct fault *f) {
  bool taken = e->status >= 200 && e->status < 300;
  sent(CONTAINER_OF(e, struct tracer, outgoing), f ? f->message : taken ? NULL : "the collector rejected the request");
}

void tracer_flush(struct tracer *t) {
  if (!t->count || t->sent) return;
  ASSERT(t->spans.n && !outgoing_under_way(&t->outgoing));
  timer_stop(&t->flush);
  struct buf body;
  buf_init(&body, SPANS_BYTES + 1024);
  buf_str(&body, str_of(t->form->head));
  buf_str(&body, buf_view(&t->spans));
  buf_str(&body, STR("]}]}]}"));
  ASSERT(!body.over);
  t->sent = t->count;
  t->count = 0;
  buf_reset(&t->spans);
  outgoing_send(&t->outgoing, "POST", STR("Content-Type: application/json\r\n"), buf_view(&body));
  buf_done(&body);
}

static void on_flush(struct timer *timer) {
  tracer_flush(CONTAINER_OF(timer, struct tracer, flush));
}

static void on_end(struct deferred *d) {
  struct tracer *t = CONTAINER_OF(d, struct tracer, end);
  void (*closed)(void *ctx) = t->closed;
  ASSERT(closed);
  void *ctx = t->ctx;
  size_t left = t->count + t->sent;
  if (left)
    log_warn(t->opt.loop->log, "%s: %zu %s were not sent before the gateway stopped", t->form->name, left,
             t->form->items);
  tracer_free(&t);
  closed(ctx);
}

static void on_last(struct timer *timer) {
  on_end(&CONTAINER_OF(timer, struct tracer, last)->end);
}

void tracer_close(struct tracer **tracer, uint64_t ms, void (*closed)(void *ctx), void *ctx) {
  struct tracer *t = *tracer;
  *tracer = NULL;
  ASSERT(closed && !t->closed);
  t->closed = closed;
  t->ctx = ctx;
  timer_stop(&t->flush);
  timer_start(t->opt.loop, &t->last, ms);
  if (!t->sent) continue_close(t);
}

struct tracer *tracer_new(const struct tracer_options *opt, struct fault *f) {
  ASSERT(opt->loop && opt->rand);
  struct tracer *t = MEM_NEW(struct tracer);
  struct outgoing_options outgoing = {.loop = opt->loop, .url = opt->url, .ms = SEND_MS, .on_back = on_back};
  t->opt = *opt;
  t->form = &forms[opt->records];
  timer_init(&t->flush, on_flush);
  timer_init(&t->last, on_last);
  deferred_init(&t->end, on_end);
  buf_init(&t->spans, SPANS_BYTES);
  if (outgoing_init(&t->outgoing, &outgoing, f)) t->opt.url = t->outgoing.opt.url;
  else tracer_free(&t);
  return t;
}

void tracer_free(struct tracer **tracer) {
  struct tracer *t = *tracer;
  if (!t) return;
  *tracer = NULL;
  timer_stop(&t->flush);
  timer_stop(&t->last);
  deferred_cancel(&t->end);
  outgoing_done(&t->outgoing);
  buf_done(&t->spans);
  mem_free(t);
}

uint64_t tracer_dropped(const struct tracer *t) {
  return t->dropped;
}

// ---- spans

struct trace_context tracer_begin(struct tracer *t, const struct trace_context *parent) {
  struct trace_context own = {.sampled = true};
  uint32_t lot;
  if (parent) own = *parent;
  else rand_fill(t->opt.rand, own.trace, TRACE_ID);
  rand_fill(t->opt.rand, own.span, TRACE_SPAN_ID);
  if (parent || t->opt.sample_permille >= 1000) return own;
  memcpy(&lot, own.trace, sizeof lot);
  own.sampled = lot % 1000 < t->opt.sample_permille;
  return own;
}

static void put_attribute(struct json_writer *w, const char *key, str value) {
  if (!value.n) return;
  json_begin_object(w);
  json_member_str(w, STR("key"), str_of(key));
  json_put_key(w, STR("value"));
  json_begin_object(w);
  json_member_str(w, STR("stringValue"), utf8_cut(value, TEXT_BYTES));
  json_end_object(w);
  json_end_object(w);
}

static void put_hex(struct json_writer *w, const char *key, const unsigned char *id, size_t n) {
  char hex[2 * TRACE_ID + 1];
  ASSERT(n <= TRACE_ID);
  hash_hex(id, n, hex);
  json_member_str(w, str_of(key), str_of(hex));
}

static void put_time(struct json_writer *w, const char *key, uint64_t ns) {
  struct str_digits room;
  json_member_str(w, str_of(key), str_from_u64(ns, &room));
}

static void put_governed(struct json_writer *w, const struct trace_span *s) {
  struct str_digits room;
  put_attribute(w, "policy_decision_id", s->decision_id);
  put_attribute(w, "contextos.action.approval_mode_effective", s->mode);
  put_attribute(w, "contextos.action.provisional", s->provisional ? STR("true") : STR_NONE);
  put_attribute(w, "contextos.action.capability", s->capability);
  put_attribute(w, "contextos.action.adapter", s->adapter);
  put_attribute(w, "contextos.action.tenant", s->tenant);
  put_attribute(w, "contextos.action.outcome", s->error ? STR("failed") : STR("completed"));
  put_attribute(w, "contextos.action.attempt", str_from_u64(s->attempts, &room));
}

// Attribute names follow the OpenTelemetry conventions for MCP.
static void put_attributes(struct json_writer *w, const struct trace_span *s) {
  json_put_key(w, STR("attributes"));
  json_begin_array(w);
  put_attribute(w, "mcp.method.name", s->method);
  put_attribute(w, "gen_ai.tool.name", s->tool);
  put_attribute(w, "mcp.session.id", s->session);
  put_attribute(w, "toolgate.server", s->server);
  put_attribute(w, "toolgate.agent", s->agent);
  if (s->decision_id.p) put_governed(w, s);
  if (s->error) put_attribute(w, "error.type", str_of(s->error));
  if (s->step) put_attribute(w, "toolgate.step", str_of(s->step));
  json_end_array(w);
}

static void put_span(struct buf *out, const struct trace_span *s) {
  enum { KIND_SERVER = 2, STATUS_ERROR = 2 };
  uint64_t began = (uint64_t)s->began_ms * 1000000;
  struct json_writer w = json_writer(out);
  char name[TEXT_BYTES];
  snprintf(name, sizeof name, "%.*s%s%.*s", STR_ARG(s->method), s->tool.n ? " " : "",
           (int)(s->tool.n < 128 ? s->tool.n : 128), s->tool.p ? s->tool.p : "");
  json_begin_object(&w);
  put_hex(&w, "traceId", s->self.trace, TRACE_ID);
  put_hex(&w, "spanId", s->self.span, TRACE_SPAN_ID);
  if (s->parent) put_hex(&w, "parentSpanId", s->parent, TRACE_SPAN_ID);
  json_member_str(&w, STR("name"), str_of(name));
  json_member_int(&w, STR("kind"), KIND_SERVER);
  put_time(&w, "startTimeUnixNano", began);
  put_time(&w, "endTimeUnixNano", began + s->took_us * 1000);
  put_attributes(&w, s);
  if (s->error) {
    json_put_key(&w, STR("status"));
    json_begin_object(&w);
    json_member_int(&w, STR("code"), STATUS_ERROR);
    json_member_str(&w, STR("message"), str_of(s->error));
    json_end_object(&w);
  }
  json_end_object(&w);
}

// Returns whether one more item fits into the buffer. If it does not fit, counts the item as dropped.
static bool make_room(struct tracer *t) {
  bool fits = t->spans.n + SPAN_BYTES <= t->spans.max;
  if (!fits) t->dropped++;
  else if (t->count) buf_char(&t->spans, ',');
  return fits;
}

static void added(struct tracer *t) {
  t->count++;
  if (t->count >= SPANS_AT_ONCE) tracer_flush(t);
  arm(t);
}

void tracer_end(struct tracer *t, const struct trace_span *span) {
  if (!span->self.sampled || !make_room(t)) return;
  put_span(&t->spans, span);
  added(t);
}

// ---- records

static void put_record(struct buf *out, const struct trace_record *r) {
  enum { SEVERITY_INFO = 9, SEVERITY_WARN = 13 };
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  put_time(&w, "timeUnixNano", (uint64_t)r->at_ms * 1000000);
  json_member_int(&w, STR("severityNumber"), r->failed ? SEVERITY_WARN : SEVERITY_INFO);
  json_member_str(&w, STR("severityText"), r->failed ? STR("WARN") : STR("INFO"));
  json_member_str(&w, STR("eventName"), r->event);
  json_put_key(&w, STR("body"));
  json_begin_object(&w);
  json_member_str(&w, STR("stringValue"), r->event);
  json_end_object(&w);
  json_put_key(&w, STR("attributes"));
  json_begin_array(&w);
  for (size_t i = 0; i < r->count; i++) put_attribute(&w, r->fields[i].key, r->fields[i].value);
  json_end_array(&w);
  if (r->trace.n) json_member_str(&w, STR("traceId"), r->trace);
  if (r->span.n) json_member_str(&w, STR("spanId"), r->span);
  json_end_object(&w);
}

void tracer_record(struct tracer *t, const struct trace_record *record) {
  if (!make_room(t)) return;
  put_record(&t->spans, record);
  added(t);
}
