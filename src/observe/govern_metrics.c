// SPDX-License-Identifier: Apache-2.0
#include "observe/govern_metrics.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "observe/histogram.h"
#include "observe/metrics.h"

enum { CODES = GOVERNANCE_FLOW_DENIED + 1 };

// Counters of one capability of an adapter, or of the adapter itself.
struct tally {
  uint64_t ends[GOVERNED_END_COUNT];
  struct histogram times;           // of an adapter
  uint64_t audited, misclassified;  // only for an adapter; calls that were sent
  str id, adapter, name;            // name: the capability; STR_NONE for an adapter
  struct tally *of;                 // of a capability: the tally of its adapter, once known
  char text[];
};

struct govern_metrics {
  struct map capabilities, adapters;
  struct tally *other_capabilities, *other_adapters;
  uint64_t decisions[CODES];
  uint64_t flow_denied, flow_warned;
};

static const char *end_word(enum governed_end end) {
  static const char *const words[] = {
#define X(name, word) word,
      GOVERNED_ENDS(X)
#undef X
  };
  ASSERT(end < GOVERNED_END_COUNT);
  return words[end];
}

// ---- counting

// `id` is ADAPTER.CAPABILITY for a capability, or ADAPTER for an adapter, whose name contains no dot.
static struct tally *tally_new(str id) {
  struct tally *t = mem_zero(sizeof *t + id.n + 1);
  memcpy(t->text, id.p, id.n);
  t->id = (str){t->text, id.n};
  if (!str_cut(t->id, '.', &t->adapter, &t->name)) t->name = STR_NONE;
  return t;
}

struct govern_metrics *govern_metrics_new(const struct hash_key *seed) {
  struct govern_metrics *m = MEM_NEW(struct govern_metrics);
  map_init(&m->capabilities, seed);
  map_init(&m->adapters, seed);
  m->other_capabilities = tally_new(STR("(others).(others)"));
  m->other_adapters = tally_new(STR("(others)"));
  return m;
}

static void free_all(struct map *m) {
  size_t at = 0;
  for (struct tally *t; (t = map_next(m, &at));) mem_free(t);
  map_done(m);
}

void govern_metrics_free(struct govern_metrics **metrics) {
  struct govern_metrics *m = *metrics;
  if (!m) return;
  *metrics = NULL;
  free_all(&m->capabilities);
  free_all(&m->adapters);
  mem_free(m->other_capabilities);
  mem_free(m->other_adapters);
  mem_free(m);
}

static struct tally *find(struct map *all, str id, struct tally *others) {
  struct tally *t = map_find(all, id);
  if (t) return t;
  if (map_count(all) >= GOVERN_METRICS_NAMES) return others;
  t = tally_new(id);
  map_add(all, t->id, t);
  return t;
}

void govern_metrics_call(struct govern_metrics *m, const struct governed_call *c) {
  struct tally *capability = find(&m->capabilities, c->capability->id, m->other_capabilities);
  struct tally *adapter = capability->of;
  if (!adapter) adapter = find(&m->adapters, c->capability->adapter->adapter_id, m->other_adapters);
  if (capability != m->other_capabilities) capability->of = adapter;
  ASSERT(c->end < GOVERNED_END_COUNT);
  capability->ends[c->end]++;
  adapter->ends[c->end]++;
  if (!c->answered) return;
  histogram_add(&adapter->times, c->us);
  adapter->audited++;
  adapter->misclassified += c->misclassified;
}

void govern_metrics_decision(struct govern_metrics *m, enum governance_code code) {
  ASSERT((size_t)code < CODES);
  m->decisions[code]++;
}

void govern_metrics_flow(struct govern_metrics *m, bool refused) {
  if (refused) m->flow_denied++;
  else m->flow_warned++;
}

// ---- the page

typedef void put_tally(struct buf *out, const struct tally *t);

static void put_each(const struct map *all, const struct tally *others, struct buf *out, put_tally *put) {
  size_t at = 0;
  for (const struct tally *t; (t = map_next(all, &at));) put(out, t);
  put(out, others);
}

static void put_ends(struct buf *out, const struct tally *t) {
  for (int i = 0; i < GOVERNED_END_COUNT; i++) {
    if (!t->ends[i]) continue;
    buf_str(out, STR("toolgate_govern_calls_total{adapter=\""));
    metrics_put_label(out, t->adapter);
    buf_str(out, STR("\",capability=\""));
    metrics_put_label(out, t->name);
    buf_printf(out, "\",outcome=\"%s\"} %" PRIu64 "\n", end_word((enum governed_end)i), t->ends[i]);
  }
}

static void put_times(struct buf *out, const struct tally *t) {
  histogram_write(&t->times, "toolgate_govern_call_seconds", "adapter", t->adapter, out);
}

static void put_audited(struct buf *out, const struct tally *t) {
  if (t->audited) metrics_put_value(out, "toolgate_govern_audited_total", "adapter", t->adapter, t->audited);
}

static void put_misclassified(struct buf *out, const struct tally *t) {
  if (t->audited)
    metrics_put_value(out, "toolgate_govern_misclassified_total", "adapter", t->adapter, t->misclassified);
}

void govern_metrics_write(const struct govern_metrics *m, struct buf *out) {
  metrics_put_head(out, "toolgate_govern_calls_total", "counter", "Governed calls by capability and outcome.");
  put_each(&m->capabilities, m->other_capabilities, out, put_ends);
  metrics_put_head(out, "toolgate_govern_call_seconds", "histogram", "Time of governed calls by adapter.");
  put_each(&m->adapters, m->other_adapters, out, put_times);
  metrics_put_head(out, "toolgate_govern_decisions_total", "counter", "Decisions of governance by their code.");
  for (int i = 0; i < CODES; i++)
    metrics_put_value(out, "toolgate_govern_decisions_total", "code",
                      str_of(governance_code_name((enum governance_code)i)), m->decisions[i]);
  metrics_put_head(out, "toolgate_govern_audited_total", "counter",
                   "Governed calls whose class was compared with the annotations of the tool.");
  put_each(&m->adapters, m->other_adapters, out, put_audited);
  metrics_put_head(out, "toolgate_govern_misclassified_total", "counter",
                   "Such calls of a class without effects, although the tool says that it is destructive.");
  put_each(&m->adapters, m->other_adapters, out, put_misclassified);
  metrics_put_head(out, "toolgate_govern_flow_total", "counter",
                   "Calls and views that would have joined all marks of the flow guard.");
  metrics_put_value(out, "toolgate_govern_flow_total", "result", STR("denied"), m->flow_denied);
  metrics_put_value(out, "toolgate_govern_flow_total", "result", STR("warned"), m->flow_warned);
}

// ---- JSON

static uint64_t calls_of(const struct tally *t) {
  uint64_t sum = 0;
  for (int i = 0; i < GOVERNED_END_COUNT; i++) sum += t->ends[i];
  return sum;
}

static void put_ratio(struct json_writer *w, str key, uint64_t part, uint64_t all) {
  json_put_key(w, key);
  if (!all) {
    json_put_null(w);
    return;
  }
  buf_printf(w->out, "%.6g", (double)part / (double)all);
  w->comma = true;
}

static void put_counts(struct json_writer *w, const struct tally *t) {
  const uint64_t *ends = t->ends;
  json_member_u64(w, STR("calls"), calls_of(t));
  for (int i = 0; i < GOVERNED_END_COUNT; i++) json_member_u64(w, str_of(end_word((enum governed_end)i)), ends[i]);
  uint64_t ended = ends[GOVERNED_COMPLETED] + ends[GOVERNED_FAILED] + ends[GOVERNED_TIMEOUT];
  put_ratio(w, STR("success_rate"), ends[GOVERNED_COMPLETED], ended);
}

static void put_capability(struct json_writer *w, const struct tally *t) {
  if (!calls_of(t)) return;
  json_begin_object(w);
  json_member_str(w, STR("adapter"), t->adapter);
  json_member_str(w, STR("capability"), t->name);
  put_counts(w, t);
  json_end_object(w);
}

static void put_adapter(struct json_writer *w, const struct tally *t) {
  if (!calls_of(t)) return;
  json_begin_object(w);
  json_member_str(w, STR("adapter"), t->adapter);
  put_counts(w, t);
  json_member_u64(w, STR("mean_us"), t->times.count ? t->times.us / t->times.count : 0);
  json_member_u64(w, STR("p99_us"), histogram_quantile(&t->times, 990));
  json_member_u64(w, STR("audited"), t->audited);
  json_member_u64(w, STR("misclassified"), t->misclassified);
  json_end_object(w);
}

static void put_list(struct json_writer *w, str key, const struct map *all, const struct tally *others,
                     void (*put)(struct json_writer *w, const struct tally *t)) {
  size_t at = 0;
  json_put_key(w, key);
  json_begin_array(w);
  for (const struct tally *t; (t = map_next(all, &at));) put(w, t);
  put(w, others);
  json_end_array(w);
}

static bool is_about_modes(enum governance_code code) {
  return code == GOVERNANCE_MODE_INVALID || code == GOVERNANCE_MODE_EXCEEDS_MAXIMUM ||
         code == GOVERNANCE_MODE_RAISE_FORBIDDEN || code == GOVERNANCE_MODE_ABOVE_RUN_CEILING;
}

void govern_metrics_put(const struct govern_metrics *m, struct json_writer *w) {
  uint64_t all = 0, modes = 0;
  json_put_key(w, STR("decisions"));
  json_begin_object(w);
  for (int i = 0; i < CODES; i++) {
    all += m->decisions[i];
    if (is_about_modes((enum governance_code)i)) modes += m->decisions[i];
    if (m->decisions[i]) json_member_u64(w, str_of(governance_code_name((enum governance_code)i)), m->decisions[i]);
  }
  json_end_object(w);
  json_member_u64(w, STR("rejected_modes"), modes);
  put_ratio(w, STR("violations_per_thousand"), 1000 * (all - m->decisions[GOVERNANCE_ALLOWED]), all);
  json_member_u64(w, STR("flow_denied"), m->flow_denied);
  json_member_u64(w, STR("flow_warned"), m->flow_warned);
  put_list(w, STR("capabilities"), &m->capabilities, m->other_capabilities, put_capability);
  put_list(w, STR("adapters"), &m->adapters, m->other_adapters, put_adapter);
}
