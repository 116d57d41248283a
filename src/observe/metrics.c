// SPDX-License-Identifier: Apache-2.0
#include "observe/metrics.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "observe/govern_metrics.h"
#include "observe/histogram.h"

// Outcomes of a call. The outcome of a call that failed with a fault is END_FAULTS plus the fault's code.
enum { END_OK, END_TOOL_ERROR, END_CACHED, END_DRY_RUN, END_FAULTS };

struct served {
  char *name;
  uint64_t ends[END_FAULTS + FAULT_COUNT];
  struct histogram times;
};

struct metrics {
  struct map servers;      // by name
  struct served *nowhere;  // counters of calls that reached no server
  struct served *others;
  uint64_t saved;
  uint64_t rejections[REJECTION_COUNT];
  struct {
    const struct served *by;
    size_t end;
    uint64_t us;
  } last[METRICS_LAST];  // ring buffer of the most recent calls
  uint64_t calls;
  struct govern_metrics *governed;
};

static struct served *served_new(str name) {
  struct served *s = MEM_NEW(struct served);
  s->name = mem_alloc(name.n + 1);
  if (name.n) memcpy(s->name, name.p, name.n);
  s->name[name.n] = '\0';
  return s;
}

static void served_free(struct served *s) {
  mem_free(s->name);
  mem_free(s);
}

struct metrics *metrics_new(const struct hash_key *seed) {
  struct metrics *m = MEM_NEW(struct metrics);
  map_init(&m->servers, seed);
  m->nowhere = served_new(STR_NONE);
  m->others = served_new(STR("(others)"));
  m->governed = govern_metrics_new(seed);
  return m;
}

void metrics_free(struct metrics **metrics) {
  struct metrics *m = *metrics;
  if (!m) return;
  *metrics = NULL;
  size_t at = 0;
  for (struct served *s; (s = map_next(&m->servers, &at));) served_free(s);
  map_done(&m->servers);
  served_free(m->nowhere);
  served_free(m->others);
  govern_metrics_free(&m->governed);
  mem_free(m);
}

static struct served *served_by(struct metrics *m, str server) {
  if (!server.n) return m->nowhere;
  struct served *s = map_find(&m->servers, server);
  if (s) return s;
  ASSERT(map_count(&m->servers) <= METRICS_SERVERS);
  if (map_count(&m->servers) >= METRICS_SERVERS) return m->others;
  s = served_new(server);
  map_add(&m->servers, str_of(s->name), s);
  return s;
}

static size_t end_of(const struct metrics_call *c) {
  ASSERT((size_t)c->code < FAULT_COUNT);
  if (c->code) return END_FAULTS + (size_t)c->code;
  if (c->dry_run) return END_DRY_RUN;
  if (c->recalled) return END_CACHED;
  return c->tool_error ? END_TOOL_ERROR : END_OK;
}

void metrics_count_call(struct metrics *m, const struct metrics_call *c) {
  struct served *s = served_by(m, c->server);
  size_t end = end_of(c), slot = m->calls++ % METRICS_LAST;
  ASSERT(end < END_FAULTS + FAULT_COUNT);
  s->ends[end]++;
  m->last[slot].by = s;
  m->last[slot].end = end;
  m->last[slot].us = c->answered ? c->us : 0;
  if (!c->answered) return;
  histogram_add(&s->times, c->us);
}

struct govern_metrics *metrics_governed(const struct metrics *m) {
  return m->governed;
}

void metrics_count_saved(struct metrics *m, uint64_t tokens) {
  m->saved += tokens;
}

void metrics_count_rejection(struct metrics *m, enum rejection why) {
  ASSERT((size_t)why < REJECTION_COUNT);
  m->rejections[why]++;
}

// ---- one server

struct metrics_tally metrics_of(const struct metrics *m, str server) {
  const struct served *s = map_find(&m->servers, server);
  struct metrics_tally t = {0};
  if (!s) return t;
  for (size_t i = 0; i < END_FAULTS + FAULT_COUNT; i++) {
    t.calls += s->ends[i];
    if (i != END_OK && i != END_CACHED && i != END_DRY_RUN) t.errors += s->ends[i];
  }
  t.p50_us = histogram_quantile(&s->times, 500);
  t.p95_us = histogram_quantile(&s->times, 950);
  return t;
}

// ---- the page

void metrics_put_head(struct buf *out, const char *name, const char *type, const char *help) {
  buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_put_value(struct buf *out, const char *name, const char *label, str value_of_label, uint64_t value) {
  buf_str(out, str_of(name));
  if (label) {
    buf_printf(out, "{%s=\"", label);
    metrics_put_label(out, value_of_label);
    buf_str(out, STR("\"}"));
  }
  buf_printf(out, " %" PRIu64 "\n", value);
}

static const char *end_name(size_t end) {
  static const char *const names[] = {"ok", "tool_error", "cached", "dry_run"};
  ASSERT(end < END_FAULTS + FAULT_COUNT);
  return end < END_FAULTS ? names[end] : fault_name((enum fault_code)(end - END_FAULTS));
}

bool metrics_last(const struct metrics *m, size_t i, struct metrics_last *out) {
  if (i >= METRICS_LAST || i >= m->calls) return false;
  size_t slot = (m->calls - 1 - i) % METRICS_LAST;
  ASSERT(m->last[slot].by);
  *out = (struct metrics_last){str_of(m->last[slot].by->name), end_name(m->last[slot].end), m->last[slot].us};
  return true;
}

static void put_ends(struct buf *out, const struct served *s) {
  for (size_t i = 0; i < END_FAULTS + FAULT_COUNT; i++) {
    if (!s->ends[i]) continue;
    buf_str(out, STR("toolgate_calls_total{server=\""));
    metrics_put_label(out, str_of(s->name));
    buf_printf(out, "\",outcome=\"%s\"} %" PRIu64 "\n", end_name(i), s->ends[i]);
  }
}

static void put_times(struct buf *out, const struct served *s) {
  histogram_write(&s->times, "toolgate_call_seconds", "server", str_of(s->name), out);
}

static void put_each(const struct metrics *m, struct buf *out, void put(struct buf *out, const struct served *s)) {
  size_t at = 0;
  for (const struct served *s; (s = map_next(&m->servers, &at));) put(out, s);
  put(out, m->others);
  put(out, m->nowhere);
}

static void put_faults(const struct metrics *m, struct buf *out) {
  metrics_put_head(out, "toolgate_faults_total", "counter", "Calls that ended with a fault, by its code.");
  for (size_t code = 1; code < FAULT_COUNT; code++) {
    size_t at = 0;
    uint64_t sum = m->others->ends[END_FAULTS + code] + m->nowhere->ends[END_FAULTS + code];
    for (const struct served *s; (s = map_next(&m->servers, &at));) sum += s->ends[END_FAULTS + code];
    if (sum) metrics_put_value(out, "toolgate_faults_total", "code", str_of(fault_name((enum fault_code)code)), sum);
  }
}

// Writes all counters, even those that are zero: an alert on the first rejection needs a previous value.
static void put_rejections(const struct metrics *m, struct buf *out) {
  metrics_put_head(out, "toolgate_auth_failures_total", "counter",
                   "Requests refused for their credentials, by reason.");
  for (int i = 0; i < REJECTION_COUNT; i++)
    metrics_put_value(out, "toolgate_auth_failures_total", "reason", str_of(rejection_word((enum rejection)i)),
                      m->rejections[i]);
}

void metrics_write(const struct metrics *m, struct buf *out) {
  metrics_put_head(out, "toolgate_calls_total", "counter", "Calls by server and outcome.");
  put_each(m, out, put_ends);
  put_faults(m, out);
  metrics_put_head(out, "toolgate_call_seconds", "histogram", "Time from the client's request to the end of the call.");
  put_each(m, out, put_times);
  metrics_put_head(
      out, "toolgate_result_tokens_saved_total", "counter",
      "Tokens of results that were stored and not sent to the client (estimated from the beginning of each result).");
  metrics_put_value(out, "toolgate_result_tokens_saved_total", NULL, STR_NONE, m->saved);
  put_rejections(m, out);
}
