// SPDX-License-Identifier: Apache-2.0
// GET /metrics, for Prometheus.
#include <inttypes.h>

#include "app/admin/admin.h"
#include "call/audit_recorder.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"

struct series {
  const char *name, *type, *help;
  uint64_t (*value)(const struct upstream_status *g);
};

static uint64_t is_up(const struct upstream_status *g) {
  return g->state == LANE_READY;
}
static uint64_t open_of(const struct upstream_status *g) {
  return g->open;
}
static uint64_t in_flight_of(const struct upstream_status *g) {
  return g->in_flight;
}
static uint64_t waiting_of(const struct upstream_status *g) {
  return g->waiting;
}
static uint64_t starts_of(const struct upstream_status *g) {
  return g->starts;
}
static uint64_t restarts_of(const struct upstream_status *g) {
  return g->restarts;
}
static uint64_t losses_of(const struct upstream_status *g) {
  return g->losses;
}

static const struct series of_servers[] = {
    {"toolgate_server_up", "gauge", "1: a connection to the server is ready.", is_up},
    {"toolgate_server_connections", "gauge", "Connections to the server that are ready.", open_of},
    {"toolgate_server_in_flight", "gauge", "Calls in flight at the server.", in_flight_of},
    {"toolgate_server_queue", "gauge", "Calls that wait for their turn at the server.", waiting_of},
    {"toolgate_server_starts_total", "counter", "Connections to the server that were opened.", starts_of},
    {"toolgate_server_restarts_total", "counter", "Connections that were opened after a failure.", restarts_of},
    {"toolgate_server_failures_total", "counter", "Connections that could not be opened, or were lost.", losses_of},
};

static void put_series(struct buf *out, const struct gateway *g, const struct series *s) {
  struct upstream_status u;
  metrics_put_head(out, s->name, s->type, s->help);
  for (unsigned at = 0; model_next_server(g, &at, &u);) metrics_put_value(out, s->name, "server", u.name, s->value(&u));
}

static void put_single(struct buf *out, const char *name, const char *type, const char *help, uint64_t value) {
  metrics_put_head(out, name, type, help);
  metrics_put_value(out, name, NULL, STR_NONE, value);
}

static void put_audit(struct buf *out, const struct audit_recorder *l) {
  put_single(out, "toolgate_audit_failing", "gauge", "1: the audit log cannot be written.", audit_recorder_failing(l));
  put_single(out, "toolgate_audit_lost_total", "counter", "Lines of the audit log that were lost.",
             audit_recorder_lost(l));
  put_single(out, "toolgate_audit_breaks_total", "counter", "Audit logs that could not be verified.",
             audit_recorder_breaks(l));
}

static void put_reloads(struct buf *out, const struct reload_status *status) {
  const char *name = "toolgate_reloads_total";
  metrics_put_head(out, name, "counter", "Times that the files of the configuration were read again.");
  metrics_put_value(out, name, "result", STR("taken"), status->taken);
  metrics_put_value(out, name, "result", STR("refused"), status->refused);
  put_single(out, "toolgate_reload_failing", "gauge", "1: the current files were rejected.",
             status->refused && !status->ok);
}

static void put_loop(struct buf *out, const struct loop *l) {
  static const char *const names[] = {"toolgate_loop_slow_total", "toolgate_loop_slow_milliseconds_total"};
  static const char *const help[] = {"Callbacks that held the loop for more than 5 ms, by their work and name.",
                                     "Time for which these callbacks held the loop."};
  _Static_assert(LOOP_SLOW_MS == 5, "the help text names the threshold");
  ASSERT(l->slow_count <= sizeof l->slow / sizeof *l->slow);
  for (int i = 0; i < 2; i++) {
    metrics_put_head(out, names[i], "counter", help[i]);
    for (size_t k = 0; k < l->slow_count; k++) {
      const struct loop_slow *s = &l->slow[k];
      ASSERT((size_t)s->work < LOOP_WORKS);
      buf_printf(out, "%s{work=\"%s\",callback=\"%s\"} %" PRIu64 "\n", names[i], loop_work_names[s->work], s->name,
                 i ? s->ms : s->count);
    }
  }
  put_single(out, "toolgate_loop_slow_max_milliseconds", "gauge", "Longest time that a callback held the loop.",
             l->slow_max_ms);
}

static void put_pins(struct buf *out, const struct pins *p) {
  metrics_put_head(out, "toolgate_pins", "gauge", "Tools and servers by the state of their definition.");
  for (int i = 0; i < PIN_STATES; i++)
    metrics_put_value(out, "toolgate_pins", "state", str_of(pin_state_name((enum pin_state)i)),
                      pins_count(p, (enum pin_state)i));
}

static void put_metrics(struct buf *out, const struct gateway *g) {
  metrics_write(g->metrics, out);
  put_reloads(out, &g->reload);
  for (size_t i = 0; i < sizeof of_servers / sizeof *of_servers; i++) put_series(out, g, &of_servers[i]);
  put_single(out, "toolgate_sessions", "gauge", "Sessions of clients that are open.", model_totals(g).sessions);
  put_single(out, "toolgate_request_bytes", "gauge", "Bytes held by requests of clients.", g->server.intake.used);
  put_single(out, "toolgate_requests_without_room_total", "counter",
             "Requests refused because too many bytes were held.", g->server.intake.refused);
  put_single(out, "toolgate_large_bytes", "gauge", "Bytes of large messages from servers in flight.",
             g->loop.bulk.used);
  put_loop(out, &g->loop);
  if (g->rules.governance) govern_metrics_write(metrics_governed(g->metrics), out);
  if (g->rules.approvals) approvals_write_metrics(g->rules.approvals, out);
  if (g->rules.pins) put_pins(out, g->rules.pins);
  if (g->tracer)
    put_single(out, "toolgate_spans_dropped_total", "counter", "Spans that the collector did not get.",
               tracer_dropped(g->tracer));
  if (g->records)
    put_single(out, "toolgate_log_records_dropped_total", "counter", "Log records that the collector did not get.",
               tracer_dropped(g->records));
  if (g->audit_recorder) put_audit(out, g->audit_recorder);
  metrics_put_head(out, "toolgate_build_info", "gauge", "The version, as a label.");
  metrics_put_value(out, "toolgate_build_info", "version", STR(TOOLGATE_VERSION), 1);
}

void admin_page_metrics(struct admin_request *r) {
  ASSERT(r->role >= ADMIN_READER);
  put_metrics(r->text, r->admin->model->gateway);
  admin_reply(r, 200, STR("text/plain; version=0.0.4; charset=utf-8"));
}
