// SPDX-License-Identifier: Apache-2.0
#include "app/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/admin/admin.h"
#include "app/admission.h"
#include "app/cli/command.h"
#include "app/control.h"
#include "app/control_place.h"
#include "app/rejections.h"
#include "app/reload.h"
#include "base/mem.h"
#include "call/audit_recorder.h"
#include "io/http/http_server.h"
#include "io/process/lockdown.h"
#include "mcp/server/endpoint.h"
#include "mcp/server/stdio_front.h"

enum {
  RESUME_MS = 5000,
  OTHER_FILES = 64,
  QUEUE_SPARE = 1 << 20,
  SIGNALS = 4,
  MOST_PRINCIPALS = 65536,
};

enum { SERVING_MAGIC = 0x73657276 };

struct serving {
  uint32_t magic;
  struct gateway gateway;
  const struct serve_options *opt;
  const struct config *config;
  struct arena arena;
  struct reload *reload;
  struct control *control;            // NULL if commands cannot reach this gateway
  char next_control[CONTROL_ID + 1];  // id of the configuration that is being applied
  struct model model;
  struct admin admin;
  struct rejections rejections;
  bool terminal;  // the gateway was started at a terminal
  // Listeners for clients: stdio uses only `front`; HTTP uses only `http` and `endpoint`. Unused members are NULL.
  struct stdio_front *front;
  struct http_server *http;
  struct endpoint *endpoint;
  struct principals *principals;
  struct admission admission;
  // the new authentication, prepared by on_prepare and not yet applied by on_settle; set if `readmits`
  struct admission next;
  bool readmits;
  bool revoked;  // a failed reload has revoked tokens; some of them may still be in the configuration in force
  str url;

  uv_signal_t signals[SIGNALS];
  struct timer drain_timer;
  bool draining, stopping;
  int status;
};

// ---- stopping: first calls in flight are finished, then clients are disconnected, then upstreams are stopped

static void on_stopped(void *ctx) {
  struct serving *s = ctx;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  ASSERT(s->stopping);
  for (int i = 0; i < SIGNALS; i++) uv_close((uv_handle_t *)&s->signals[i], NULL);
}

static void stop_now(struct serving *s) {
  if (s->stopping) return;
  s->stopping = true;
  timer_stop(&s->drain_timer);
  reload_free(&s->reload);
  control_close(&s->control);
  endpoint_free(&s->endpoint);
  http_server_free(&s->http);
  admin_done(&s->admin);
  admission_close(&s->admission);
  stdio_front_free(&s->front);
  gateway_stop(&s->gateway, on_stopped, s);
}

static void on_drained(void *ctx) {
  stop_now(ctx);
}

static void on_drain_timeout(struct timer *t) {
  struct serving *s = CONTAINER_OF(t, struct serving, drain_timer);
  log_warn(&s->gateway.log, "stopping, although calls are still in flight: timeouts.drain has passed");
  stop_now(s);
}

// Starts a graceful stop. Does nothing if the start failed: the gateway is then already stopping and may have no
// listener.
static void drain(struct serving *s) {
  if (s->stopping) return;
  ASSERT(!s->draining);
  ASSERT(!s->front != !s->endpoint && !s->endpoint == !s->http);  // clients connect either on stdio or on HTTP
  s->draining = true;
  log_info(&s->gateway.log, "stopping: finishing calls in flight");
  if (s->gateway.tracer) tracer_flush(s->gateway.tracer);
  if (s->gateway.records) tracer_flush(s->gateway.records);
  if (s->front) {
    stdio_front_drain(s->front);
    return;
  }
  timer_start(&s->gateway.loop, &s->drain_timer, s->config->drain_ms);
  endpoint_drain(s->endpoint);
  http_server_drain(s->http, on_drained, s);
}

// Handles the loss of the guard: ends the gateway, so that the service manager or the client starts it again. A new
// guard cannot be forked from a process that has threads and connections.
static void on_guard_lost(void *ctx) {
  struct serving *s = ctx;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  log_error(&s->gateway.log, "the guard process has ended, so servers can no longer be started: ending with status %d",
            EXIT_CANNOT);
  s->status = EXIT_CANNOT;
  if (!s->draining) drain(s);
}

static void on_signal(uv_signal_t *handle, int signum) {
  struct serving *s = handle->data;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  loop_begin(&s->gateway.loop);
  // A second signal stops the gateway without waiting for calls.
  if (s->draining) stop_now(s);
  else drain(s);
  loop_end(&s->gateway.loop, LOOP_SIGNAL, "");
}

// Returns whether the terminal was closed. The gateway must then stop instead of reloading, although both events send
// SIGHUP.
static bool terminal_left(const struct serving *s) {
  return s->terminal && !isatty(STDERR_FILENO);
}

static void on_hangup(uv_signal_t *handle, int signum) {
  struct serving *s = handle->data;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  loop_begin(&s->gateway.loop);
  if (terminal_left(s)) on_signal(handle, signum);
  else if (s->config->reload == CONFIG_RELOAD_OFF)
    log_warn(&s->gateway.log, "SIGHUP is ignored, because the configuration sets \"reload: off\"");
  else if (s->reload && !s->draining) reload_now(s->reload);
  loop_end(&s->gateway.loop, LOOP_SIGNAL, "");
}

// Handles POST /reload.
static bool read_again(void *ctx) {
  struct serving *s = ctx;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  if (s->config->reload == CONFIG_RELOAD_OFF || !s->reload || s->draining) return false;
  reload_now(s->reload);
  return true;
}

// Closes the current file of the audit log and continues the log in a new file.
static void on_rotate(uv_signal_t *handle, int signum) {
  struct serving *s = handle->data;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  audit_recorder_rotate(s->gateway.audit_recorder);
}

static void on_client_ended(void *ctx) {
  // Called by the front (the connection on stdio), so the front must not be freed before a later turn of the loop.
  struct serving *s = ctx;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  ASSERT(s->front);
  s->draining = true;
  timer_start(&s->gateway.loop, &s->drain_timer, 0);
}

static void on_front_over(struct timer *t) {
  stop_now(CONTAINER_OF(t, struct serving, drain_timer));
}

// ---- starting

static void watch_signals(struct serving *s) {
  static const struct {
    int number;
    uv_signal_cb act;
  } table[SIGNALS] = {{SIGTERM, on_signal}, {SIGINT, on_signal}, {SIGHUP, on_hangup}, {SIGUSR1, on_rotate}};
  for (int i = 0; i < SIGNALS; i++) {
    uv_signal_init(&s->gateway.loop.uv, &s->signals[i]);
    s->signals[i].data = s;
    uv_signal_start(&s->signals[i], table[i].act, table[i].number);
  }
}

// Prints on stdout how clients can connect over HTTP. With HTTP, stdout carries no MCP messages.
static void say_how_to_connect(const struct serving *s, const char *url) {
  bool token = s->admission.credentials != NULL;
  const char *header = token ? " --header 'Authorization: Bearer TOKEN'" : "";
  const char *headers = token ? ", \"headers\": {\"Authorization\": \"Bearer TOKEN\"}" : "";
  const char *curl = token ? " -H 'Authorization: Bearer TOKEN'" : "";
  printf("Toolgate " TOOLGATE_VERSION " serves %zu MCP server%s at %s\n\n", s->config->upstream_count,
         s->config->upstream_count == 1 ? "" : "s", url);
  printf("  Claude Code  claude mcp add --transport http toolgate %s%s\n", url, header);
  printf("  Cursor       {\"mcpServers\": {\"toolgate\": {\"url\": \"%s\"%s}}}\n", url, headers);
  printf("  VS Code      {\"servers\": {\"toolgate\": {\"type\": \"http\", \"url\": \"%s\"%s}}}\n", url, headers);
  const char *version = mcp_revision_stateless()->name;
  printf(
      "  Try it       curl -s %s -H 'Content-Type: application/json'%s -H 'MCP-Protocol-Version: %s' "
      "-H 'Mcp-Method: tools/list' -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
      "\"io.modelcontextprotocol/protocolVersion\":\"%s\","
      "\"io.modelcontextprotocol/clientCapabilities\":{}}}}'\n\n",
      url, curl, version, version);
  fflush(stdout);
}

static void on_refused(void *ctx, const struct http_exchange *x, enum rejection why) {
  rejections_note(ctx, x, why, STR_NONE);
}

// Opens the control socket. Must be called before the gateway logs that it is listening: scripts wait for this log line
// and then run commands.
static void start_control(struct serving *s) {
  ASSERT(!s->control);
  struct control_options opt = {&s->model, s->opt->env};
  s->model.url = s->url;
  s->control = control_open(&opt);
}

// Returns the limit on connections from clients: at least a quarter of the file descriptors stays free for servers and
// files.
static size_t connections_for(const struct serving *s) {
  struct rlimit r;
  size_t wanted = s->config->max_connections;
  if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return wanted;
  size_t files = r.rlim_cur, most = files > 4 * OTHER_FILES ? files / 4 * 3 - OTHER_FILES : files / 4;
  if (wanted <= most) return wanted;
  log_warn(&s->gateway.log, "limits.connections is lowered from %zu to %zu: the process may open %zu files (ulimit -n)",
           wanted, most, files);
  return most;
}

static bool start_http(struct serving *s, struct fault *f) {
  ASSERT(!s->front && !s->endpoint && !s->http);
  const struct config *c = s->config;
  str host = config_in_url(c->host, &s->arena);
  struct endpoint_options endpoint = {
      .access = {.allowed = c->allowed_hosts.names, .allowed_count = c->allowed_hosts.count, .bound = host},
      .modes = mode_names,
      .mode_count = MODE_COUNT,
      .mode = (int)c->mode,
      .served = c->modes,
      .keepalive_ms = c->keepalive_ms,
      .session_idle_ms = c->session_idle_ms,
      .session_away_ms = c->session_away_ms,
      .resume_ms = RESUME_MS,
      .page = admin_answer,
      .page_ctx = &s->admin,
      .refused = on_refused,
      .refused_ctx = &s->rejections,
      .chain = &s->gateway.chain,
  };
  struct http_server_options server = {
      .limits = {c->max_head, c->max_request},
      .max_connections = connections_for(s),
      .max_per_address = c->max_per_address,
      .max_queued = c->max_message + QUEUE_SPARE,
      .head_ms = c->http_head_ms,
      .body_ms = c->http_body_ms,
      .idle_ms = c->http_idle_ms,
      .write_ms = c->http_write_ms,
      .admit = endpoint_admit,
      .intake = &s->gateway.server.intake,
      .vital = endpoint_vital,
  };
  s->endpoint = endpoint_new(&s->gateway.server, &endpoint);
  s->http = http_server_new(&s->gateway.loop, &server, endpoint_request, s->endpoint);
  uint16_t port;
  if (!http_server_listen(s->http, c->host, c->port, &port, f)) {
    struct fault why = *f;
    fault_set(f, why.code, "%s; choose another address with --listen HOST:PORT (port 0: any free port)", why.message);
    return false;
  }
  endpoint_listens(s->endpoint, port);
  str url = arena_printf(&s->arena, "http://%.*s:%u/mcp", STR_ARG(host), port);
  s->url = url;
  s->principals = principals_new(&s->gateway.loop.seed, MOST_PRINCIPALS);
  if (!admission_open(&s->admission, c, &s->gateway.loop, s->principals, url, f)) return false;
  endpoint_guard(s->endpoint, s->admission.credentials, &s->admission.challenge);
  s->admin.guarded = s->admission.credentials != NULL;
  start_control(s);
  log_info(&s->gateway.log, "listening on %s", url.p);
  say_how_to_connect(s, url.p);
  return true;
}

static bool start_stdio(struct serving *s, struct fault *f) {
  ASSERT(!s->front && !s->endpoint && !s->http);
  timer_init(&s->drain_timer, on_front_over);
  if (isatty(STDIN_FILENO))
    log_info(&s->gateway.log, "speaking MCP on stdin and stdout, for a client that starts this program; to listen on a "
                              "port, use --transport http");
  struct stdio_front_options opt = {
      .in_fd = STDIN_FILENO,
      .out_fd = STDOUT_FILENO,
      .mode = (int)s->config->mode,
      .max_line = s->config->max_request,
      .drain_ms = s->config->drain_ms,
      .idle_ms = s->config->session_idle_ms,
      .ended = on_client_ended,
      .ctx = s,
  };
  s->front = stdio_front_new(&s->gateway.server, &opt, f);
  if (s->front) start_control(s);
  return s->front != NULL;
}

// Prepares a reload. Makes new credentials only if the configured authentication has changed, because new credentials
// end all open streams.
static bool on_prepare(void *ctx, const struct config *before, const struct config *next, struct fault *f) {
  struct serving *s = ctx;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  ASSERT(!s->readmits);  // on_settle has completed the previous reload
  control_id(next, s->next_control);
  s->readmits = s->endpoint && (s->revoked || !config_same_auth(before, next));
  if (!s->readmits || admission_open(&s->next, next, &s->gateway.loop, s->principals, s->url, f)) return true;
  s->readmits = false;
  return false;
}

// Applies or drops what on_prepare has prepared. If the authentication changes, all open streams end, so that their
// clients must authenticate again, and requests with a removed token are refused.
static void on_settle(void *ctx, bool taken) {
  struct serving *s = ctx;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  if (taken && s->control) control_rename(s->control, s->next_control);
  if (!s->readmits) return;
  ASSERT(s->endpoint);
  struct admission other = s->next;
  if (taken) {
    other = s->admission;
    s->admission = s->next;
    endpoint_guard(s->endpoint, s->admission.credentials, &s->admission.challenge);
    s->admin.guarded = s->admission.credentials != NULL;
    s->revoked = false;
  }
  s->readmits = false;
  admission_close(&other);
}

static size_t on_revoke(void *ctx, const struct config *valid) {
  struct serving *s = ctx;
  ASSERT_MAGIC(s, SERVING_MAGIC);
  size_t count = s->endpoint ? admission_revoke(&s->admission, valid) : 0;
  if (!count) return 0;
  s->revoked = true;
  endpoint_guard(s->endpoint, s->admission.credentials, &s->admission.challenge);
  return count;
}

static void start_reload(struct serving *s) {
  ASSERT(!s->reload && s->gateway.upstreams);
  struct reload_options opt = {&s->gateway, s->opt->said, s->opt->problems, s->opt->env,
                               on_prepare,  on_settle,    on_revoke,        s};
  s->reload = reload_new(&opt);
}

// Returns false if there is a loop: this gateway was started, directly or through other gateways, by a gateway with the
// same configuration.
static bool is_first(const struct serving *s, struct fault *f) {
  if (!chain_repeats(&s->gateway.chain)) return true;
  fault_set(f, FAULT_INVALID,
            "this is a loop: a gateway with the same files started this gateway, maybe through others (" CHAIN_VARIABLE
            "); remove the server entry that starts this gateway");
  return false;
}

// Restricts this process: from here on it may only open files and sockets. The guard starts the servers.
static void lock_down(struct serving *s) {
  const struct log *log = &s->gateway.log;
  struct lockdown_gaps gaps = lockdown_gaps();
  if (gaps.swappable)
    log_warn(
        log,
        "secrets may be written to swap: the limit of locked memory is too small; raise it to 8 MiB (ulimit -l 8192, "
        "LimitMEMLOCK=8M of systemd, --ulimit memlock=8388608 of docker run)");
  if (gaps.no_domains)
    log_warn(log, "servers can read each other's memory and environment: Landlock is not available (it needs Linux "
                  "5.19, and \"landlock\" in /sys/kernel/security/lsm)");
  if (gaps.deepest_domain)
    log_warn(log, "servers can read each other's memory and environment: this process is in as many nested Landlock "
                  "domains as the kernel allows; start it in fewer sandboxes");
  if (gaps.keeps_capabilities)
    log_warn(log, "servers that run as root keep CAP_SYS_PTRACE and can read the gateway's memory: give the gateway "
                  "CAP_SETPCAP, so that it can drop CAP_SYS_PTRACE");
  if (!lockdown_calls()) log_warn(log, "system calls are not restricted: %s", strerror(errno));
}

static bool start(struct serving *s, const struct guard *guard, struct fault *f) {
  const struct config *c = s->config;
  bool ok = gateway_init(&s->gateway, c, guard, s->opt->env, f) && is_first(s, f);
  timer_init(&s->drain_timer, on_drain_timeout);
  watch_signals(s);
  child_host_on_lost(s->gateway.children, on_guard_lost, s);
  s->rejections.gateway = &s->gateway;
  s->model = (struct model){.gateway = &s->gateway, .draining = &s->draining, .since = clock_wall_ms(&clock_system)};
  admin_init(&s->admin, &s->model, &s->rejections, read_again, s);
  lock_down(s);
  if (!ok || !admin_listen(&s->admin, f)) return false;
  ok = c->transport == CONFIG_HTTP ? start_http(s, f) : start_stdio(s, f);
  store_tidy(s->gateway.store);
  if (ok) start_reload(s);
  // On stdio, the upstreams start later, after the client's handshake, because they need to know the client's
  // capabilities.
  if (ok && c->transport == CONFIG_HTTP && !c->lazy) upstreams_start(s->gateway.upstreams);
  return ok;
}

int serve_run(const struct serve_options *opt, const struct guard *guard) {
  struct serving *s = MEM_NEW(struct serving);
  s->magic = SERVING_MAGIC;
  struct fault f;
  s->opt = opt;
  s->config = opt->config;
  s->terminal = isatty(STDERR_FILENO);
  arena_init(&s->arena);
  if (!start(s, guard, &f)) {
    log_error(&s->gateway.log, "%s", f.message);
    s->status = EXIT_CANNOT;
    stop_now(s);
  }
  loop_run(&s->gateway.loop);
  ASSERT(s->stopping && !s->readmits);  // the signal handlers keep the loop alive until stop_now has run
  gateway_done(&s->gateway);
  principals_free(&s->principals);
  arena_done(&s->arena);
  int status = s->status;
  s->magic = 0;
  mem_free(s);
  return status;
}
