// SPDX-License-Identifier: Apache-2.0
#include "app/pages.h"

#include <openssl/crypto.h>

#include "call/ledger.h"
#include "mcp/credentials.h"
#include "observe/metrics.h"
#include "upstream/gauge.h"
#include "json/write.h"

enum {
  PAGE_BYTES = 16 << 20,
  CONNECTIONS = 64,
  HEAD_BYTES = 16 << 10,
  BODY_BYTES = 1 << 10,
  TIMEOUT_MS = 10000,
};

static const char *const state_names[] = {
    [LANE_IDLE] = "idle", [LANE_STARTING] = "starting", [LANE_READY] = "ready", [LANE_DOWN] = "down"};

void pages_init(struct pages *p, struct gateway *g, const bool *draining, struct rejections *rejections) {
  const struct config *c = g->config;
  *p = (struct pages){.gateway = g, .config = c, .draining = draining, .rejections = rejections};
  buf_init(&p->text, PAGE_BYTES);
}

void pages_done(struct pages *p) {
  http_server_free(&p->http);
  buf_done(&p->text);
}

// ---- /readyz

// One that is not asked for yet will be started when it is.
static bool is_usable(enum lane_state state) {
  return state == LANE_READY || state == LANE_IDLE;
}

static void put_server(struct json_writer *w, const struct upstream_gauge *g) {
  json_put_key(w, g->name);
  json_begin_object(w);
  json_member_str(w, STR("state"), str_of(state_names[g->state]));
  if (g->why) json_member_str(w, STR("error"), str_of(g->why));
  json_end_object(w);
}

// Nothing is done while the audit log cannot be written, if it is required. The reason names files: not everybody is
// told.
static bool put_unaudited(struct pages *p, struct json_writer *w, bool whole) {
  const char *why;
  if (!p->gateway->ledger || ledger_ready(p->gateway->ledger, &why)) return false;
  json_member_str(w, STR("audit"), whole && *why ? str_of(why) : STR("the audit log cannot be written"));
  return true;
}

// Gives whether it is ready: some server can be used, or there is none, and what is done can be written down.
static bool put_ready(struct pages *p, bool names) {
  const struct upstreams *all = p->gateway->upstreams;
  size_t count = 0, usable = 0;
  for (unsigned i = 0; i < upstreams_count(all); i++) {
    if (upstreams_gone(all, i)) continue;
    count++;
    usable += is_usable(upstreams_gauge(all, i).state);
  }
  struct json_writer w = json_writer(&p->text);
  json_begin_object(&w);
  bool ready = !put_unaudited(p, &w, names) && !*p->draining && (usable || !count);
  json_member_str(&w, STR("status"), *p->draining ? STR("stopping") : ready ? STR("ready") : STR("not ready"));
  json_member_u64(&w, STR("servers_usable"), usable);
  json_member_u64(&w, STR("servers_configured"), count);
  if (names) {
    json_put_key(&w, STR("servers"));
    json_begin_object(&w);
    for (unsigned i = 0; i < upstreams_count(all); i++) {
      struct upstream_gauge g = upstreams_gauge(all, i);
      if (!upstreams_gone(all, i)) put_server(&w, &g);
    }
    json_end_object(&w);
  }
  json_end_object(&w);
  buf_char(&p->text, '\n');
  return ready;
}

// ---- /metrics

struct series {
  const char *name, *type, *help;
  uint64_t (*value)(const struct upstream_gauge *g);
};

static uint64_t is_up(const struct upstream_gauge *g) {
  return g->state == LANE_READY;
}
static uint64_t open_of(const struct upstream_gauge *g) {
  return g->open;
}
static uint64_t in_flight_of(const struct upstream_gauge *g) {
  return g->in_flight;
}
static uint64_t waiting_of(const struct upstream_gauge *g) {
  return g->waiting;
}
static uint64_t starts_of(const struct upstream_gauge *g) {
  return g->starts;
}
static uint64_t restarts_of(const struct upstream_gauge *g) {
  return g->restarts;
}
static uint64_t losses_of(const struct upstream_gauge *g) {
  return g->losses;
}

static const struct series of_servers[] = {
    {"toolgate_server_up", "gauge", "1: a connection to the server is ready.", is_up},
    {"toolgate_server_connections", "gauge", "Connections to the server that are ready.", open_of},
    {"toolgate_server_in_flight", "gauge", "Calls under way at the server.", in_flight_of},
    {"toolgate_server_queue", "gauge", "Calls that wait for their turn at the server.", waiting_of},
    {"toolgate_server_starts_total", "counter", "Connections to the server that were opened.", starts_of},
    {"toolgate_server_restarts_total", "counter", "Those of them that followed a failure.", restarts_of},
    {"toolgate_server_failures_total", "counter", "Connections that could not be opened, or were lost.", losses_of},
};

static void put_series(struct pages *p, const struct series *s) {
  const struct upstreams *all = p->gateway->upstreams;
  metrics_put_head(&p->text, s->name, s->type, s->help);
  for (unsigned i = 0; i < upstreams_count(all); i++) {
    struct upstream_gauge g = upstreams_gauge(all, i);
    if (upstreams_gone(all, i)) continue;
    metrics_put_value(&p->text, s->name, "server", g.name, s->value(&g));
  }
}

static void put_single(struct pages *p, const char *name, const char *type, const char *help, uint64_t value) {
  metrics_put_head(&p->text, name, type, help);
  metrics_put_value(&p->text, name, NULL, STR_NONE, value);
}

static void put_audit(struct pages *p) {
  const struct ledger *l = p->gateway->ledger;
  put_single(p, "toolgate_audit_failing", "gauge", "1: the audit log cannot be written.", ledger_failing(l));
  put_single(p, "toolgate_audit_lost_total", "counter", "Lines of the audit log that were lost.", ledger_lost(l));
}

static void put_reloads(struct pages *p) {
  const struct reload_status *status = &p->gateway->reload;
  const char *name = "toolgate_reloads_total";
  metrics_put_head(&p->text, name, "counter", "Times that the files of the configuration were read again.");
  metrics_put_value(&p->text, name, "result", STR("taken"), status->taken);
  metrics_put_value(&p->text, name, "result", STR("refused"), status->refused);
  put_single(p, "toolgate_reload_failing", "gauge", "1: the files as they are now were not taken.",
             status->refused && !status->ok);
}

static void put_metrics(struct pages *p) {
  struct gateway *g = p->gateway;
  metrics_write(g->metrics, &p->text);
  put_reloads(p);
  for (size_t i = 0; i < sizeof of_servers / sizeof *of_servers; i++) put_series(p, &of_servers[i]);
  put_single(p, "toolgate_sessions", "gauge", "Sessions of clients that are open.", g->server.shares.total);
  put_single(p, "toolgate_large_bytes", "gauge", "Bytes of large messages from servers under way.", g->loop.bulk.used);
  if (g->tracer)
    put_single(p, "toolgate_spans_dropped_total", "counter", "Spans that the collector did not get.",
               tracer_dropped(g->tracer));
  if (g->ledger) put_audit(p);
  metrics_put_head(&p->text, "toolgate_build_info", "gauge", "The version, as a label.");
  metrics_put_value(&p->text, "toolgate_build_info", "version", STR(TOOLGATE_VERSION), 1);
}

// ---- both

static void reply(struct pages *p, struct http_exchange *x, int status, str type) {
  if (p->text.over) http_reply(x, 500, STR_NONE, STR("text/plain"), STR("too many servers for one page\n"));
  else http_reply(x, status, STR("Cache-Control: no-store\r\n"), type, buf_view(&p->text));
}

static bool answer(struct pages *p, struct http_exchange *x, bool whole) {
  str path = x->head->path;
  bool ready = str_eq(path, STR("/readyz")), metrics = str_eq(path, STR("/metrics")) && whole;
  if (!ready && !metrics) return false;
  buf_reset(&p->text);
  if (!str_eq(x->head->method, STR("GET"))) {
    http_reply(x, 405, STR("Allow: GET\r\n"), STR("text/plain; charset=utf-8"), STR("only GET\n"));
  } else if (metrics) {
    put_metrics(p);
    reply(p, x, 200, STR("text/plain; version=0.0.4; charset=utf-8"));
  } else {
    int status = put_ready(p, whole) ? 200 : 503;
    reply(p, x, status, STR("application/json"));
  }
  return true;
}

bool pages_answer(void *pages, struct http_exchange *x) {
  struct pages *p = pages;
  bool everybody = !p->gateway->rules.policy && !p->guarded;
  return answer(p, x, everybody);
}

// ---- at their own address

static bool has_token(struct pages *p, const struct http_exchange *x) {
  unsigned char digest[SHA256_SIZE];
  struct fault why;
  str token;
  if (!p->config->admin_guarded) return true;
  enum credentials_verdict verdict = credentials_bearer(x->head, &token, &why);
  if (verdict == CREDENTIALS_GOOD) hash_sha256(token, digest);
  bool good = verdict == CREDENTIALS_GOOD && CRYPTO_memcmp(digest, p->config->admin_token, SHA256_SIZE) == 0;
  enum rejection rejection = verdict == CREDENTIALS_GOOD      ? REJECTION_UNKNOWN_TOKEN
                             : verdict == CREDENTIALS_MISSING ? REJECTION_MISSING
                                                              : REJECTION_MALFORMED;
  if (!good) rejections_note(p->rejections, x, rejection, STR("admin"));
  return good;
}

static void on_request(void *ctx, struct http_exchange *x) {
  struct pages *p = ctx;
  str text = STR("text/plain; charset=utf-8");
  struct access access = {&p->host, 1};
  int status = access_check_names(&access, x->head);
  if (status) http_reply(x, status, STR_NONE, text, STR("this Host or Origin is not served here\n"));
  else if (str_eq(x->head->path, STR("/healthz"))) http_reply(x, 200, STR_NONE, text, STR("ok\n"));
  else if (!has_token(p, x))
    http_reply(x, 401, STR("WWW-Authenticate: Bearer realm=\"toolgate admin\"\r\n"), text,
               STR("a bearer token is needed\n"));
  else if (!answer(p, x, true))
    http_reply(x, 404, STR_NONE, text, STR("not here: /healthz, /readyz and /metrics are\n"));
}

// Each client on stdio has a gateway of its own, by the same file: only one of them can have the address.
static bool do_without(struct pages *p, struct fault *f) {
  struct fault why = *f;
  fault_set(f, why.code, "%s; admin.listen can name another address, with port 0 a free one", why.message);
  if (p->config->transport == CONFIG_HTTP) return false;
  log_warn(&p->gateway->log, "no readiness and metrics: %s", f->message);
  return true;
}

bool pages_listen(struct pages *p, struct fault *f) {
  const struct config *c = p->config;
  uint16_t port;
  struct http_server_options opt = {
      .limits = {HEAD_BYTES, BODY_BYTES},
      .max_connections = CONNECTIONS,
      .max_queued = PAGE_BYTES + BODY_BYTES,
      .head_ms = TIMEOUT_MS,
      .body_ms = TIMEOUT_MS,
      .idle_ms = TIMEOUT_MS,
      .write_ms = TIMEOUT_MS,
  };
  if (!c->admin_listen.n) return true;
  p->host = c->admin_host;
  p->http = http_server_new(&p->gateway->loop, &opt, on_request, p);
  if (!http_server_listen(p->http, c->admin_host, c->admin_port, &port, f)) return do_without(p, f);
  log_info(&p->gateway->log, "readiness and metrics at %.*s, port %u", STR_ARG(c->admin_host), port);
  return true;
}
