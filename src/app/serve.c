// SPDX-License-Identifier: Apache-2.0
#include "app/serve.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/http_server.h"
#include "mcp/endpoint.h"
#include "mcp/stdio_front.h"
#include "surface/direct.h"

enum {
  HEAD_MS = 10000,
  BODY_MS = 60000,
  IDLE_MS = 75000,
  WRITE_MS = 60000,
  RESUME_MS = 5000,
  QUEUE_SPARE = 1 << 20,
  HELD_REQUESTS = 16,  // a session's requests under way may hold as much as so many of the largest
};

struct gateway {
  const struct config *config;
  struct arena arena;
  struct log log;
  struct loop loop;
  struct child_host *children;
  struct direct *direct;
  struct mcp_server server;
  struct upstreams *upstreams;
  // one of these
  struct stdio_front *front;
  struct http_server *http;
  struct endpoint *endpoint;
  const unsigned char (*tokens)[SHA256_SIZE];
  str *hosts;

  uv_signal_t signals[3];
  struct timer drain_timer;
  bool draining, stopping;
  int status;
};

// ---- stopping: first what is under way is finished, then clients go, then upstreams

static void on_upstreams_stopped(void *ctx) {
  struct gateway *g = ctx;
  for (int i = 0; i < 3; i++) uv_close((uv_handle_t *)&g->signals[i], NULL);
  upstreams_free(&g->upstreams);
  direct_free(&g->direct);
  mcp_server_done(&g->server);
}

static void stop_now(struct gateway *g) {
  if (g->stopping) return;
  g->stopping = true;
  timer_stop(&g->drain_timer);
  endpoint_free(&g->endpoint);
  http_server_free(&g->http);
  stdio_front_free(&g->front);
  upstreams_stop(g->upstreams, on_upstreams_stopped, g);
}

static void on_drained(void *ctx) {
  stop_now(ctx);
}

static void on_drain_timeout(struct timer *t) {
  struct gateway *g = CONTAINER_OF(t, struct gateway, drain_timer);
  log_warn(&g->log, "stopping with calls still under way");
  stop_now(g);
}

static void drain(struct gateway *g) {
  g->draining = true;
  log_info(&g->log, "stopping: finishing what is under way");
  if (g->front) {
    stdio_front_drain(g->front);
    return;
  }
  timer_start(&g->loop, &g->drain_timer, g->config->drain_ms);
  endpoint_drain(g->endpoint);
  http_server_drain(g->http, on_drained, g);
}

static void on_signal(uv_signal_t *s, int signum) {
  struct gateway *g = s->data;
  // The second one means it.
  if (g->draining) stop_now(g);
  else drain(g);
}

static void on_client_ended(void *ctx) {
  // From inside a callback of the front: it is freed a turn later.
  struct gateway *g = ctx;
  g->draining = true;
  timer_start(&g->loop, &g->drain_timer, 0);
}

static void on_front_over(struct timer *t) {
  stop_now(CONTAINER_OF(t, struct gateway, drain_timer));
}

// ---- starting

static void watch_signals(struct gateway *g) {
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
  signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < 3; i++) {
    uv_signal_init(&g->loop.uv, &g->signals[i]);
    g->signals[i].data = g;
    uv_signal_start(&g->signals[i], on_signal, numbers[i]);
  }
}

// Thousands of streams need as many descriptors as we are allowed.
static void raise_descriptor_limit(void) {
  struct rlimit r;
  if (getrlimit(RLIMIT_NOFILE, &r) != 0) return;
  r.rlim_cur = r.rlim_max;
  setrlimit(RLIMIT_NOFILE, &r);
}

// For the person who started it. stdout is free: clients come by HTTP.
static void say_how_to_connect(const struct gateway *g, const char *url) {
  bool token = g->config->token_count > 0;
  const char *header = token ? " --header 'Authorization: Bearer TOKEN'" : "";
  const char *headers = token ? ", \"headers\": {\"Authorization\": \"Bearer TOKEN\"}" : "";
  const char *curl = token ? " -H 'Authorization: Bearer TOKEN'" : "";
  printf("Toolgate " TOOLGATE_VERSION " serves %zu MCP server%s at %s\n\n", g->config->upstream_count,
         g->config->upstream_count == 1 ? "" : "s", url);
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

// The configured names, and the address we listen on.
static void take_hosts(struct gateway *g) {
  const struct config *c = g->config;
  bool v6 = c->host.n && memchr(c->host.p, ':', c->host.n);
  g->hosts = ARENA_ARRAY(&g->arena, str, c->allowed_host_count + 1);
  for (size_t i = 0; i < c->allowed_host_count; i++) g->hosts[i] = c->allowed_hosts[i];
  g->hosts[c->allowed_host_count] = v6 ? arena_printf(&g->arena, "[%.*s]", STR_ARG(c->host)) : c->host;
}

static bool start_http(struct gateway *g, struct fault *f) {
  const struct config *c = g->config;
  take_hosts(g);
  struct endpoint_options endpoint = {
      .access = {g->hosts, c->allowed_host_count + 1, g->tokens, c->token_count},
      .keepalive_ms = c->keepalive_ms,
      .session_idle_ms = c->session_idle_ms,
      .session_away_ms = c->session_away_ms,
      .resume_ms = RESUME_MS,
  };
  struct http_server_options server = {
      .limits = {c->max_head, c->max_request},
      .max_connections = c->max_connections,
      .max_queued = c->max_message + QUEUE_SPARE,
      .head_ms = HEAD_MS,
      .body_ms = BODY_MS,
      .idle_ms = IDLE_MS,
      .write_ms = WRITE_MS,
      .admit = endpoint_admit,
  };
  g->endpoint = endpoint_new(&g->server, &endpoint);
  g->http = http_server_new(&g->loop, &server, endpoint_request, g->endpoint);
  uint16_t port;
  if (!http_server_listen(g->http, c->host, c->port, &port, f)) return false;
  bool v6 = c->host.n && memchr(c->host.p, ':', c->host.n);
  str url = arena_printf(&g->arena, "http://%s%.*s%s:%u/mcp", v6 ? "[" : "", STR_ARG(c->host), v6 ? "]" : "", port);
  log_info(&g->log, "listening on %s", url.p);
  say_how_to_connect(g, url.p);
  return true;
}

static bool start_stdio(struct gateway *g, struct fault *f) {
  timer_init(&g->drain_timer, on_front_over);
  if (isatty(STDIN_FILENO))
    log_info(&g->log,
             "speaking MCP on stdin and stdout, for a client that starts this program; --transport http listens");
  struct stdio_front_options opt = {
      .in_fd = STDIN_FILENO,
      .out_fd = STDOUT_FILENO,
      .max_line = g->config->max_request,
      .drain_ms = g->config->drain_ms,
      .idle_ms = g->config->session_idle_ms,
      .ended = on_client_ended,
      .ctx = g,
  };
  g->front = stdio_front_new(&g->server, &opt, f);
  return g->front != NULL;
}

static void take_tokens(struct gateway *g) {
  const struct config *c = g->config;
  unsigned char(*tokens)[SHA256_SIZE] = arena_alloc(&g->arena, c->token_count * SHA256_SIZE + 1);
  for (size_t i = 0; i < c->token_count; i++) memcpy(tokens[i], c->tokens[i].sha256, SHA256_SIZE);
  g->tokens = (const unsigned char(*)[SHA256_SIZE])tokens;
}

static bool assemble(struct gateway *g, const struct guard *guard, char *const *env, struct fault *f) {
  const struct config *c = g->config;
  size_t max_message = c->max_message > c->max_request ? c->max_message : c->max_request;
  g->children = child_host_new(&g->loop, guard);
  struct direct_options direct = {
      .loop = &g->loop,
      .start_wait_ms = c->start_wait_ms,
      .page_size = c->page_size,
      .calls = {&g->loop, max_message, c->input_ms},
  };
  g->direct = direct_new(&direct);
  struct mcp_server_limits limits = {
      .max_sessions = c->max_sessions,
      .max_in_flight = c->max_in_flight,
      .max_held = HELD_REQUESTS * c->max_request,
      .max_message = max_message,
  };
  mcp_server_init(&g->server, &g->loop, &direct_surface, g->direct, &limits);
  struct upstreams_options opt = {
      .loop = &g->loop,
      .children = g->children,
      .request_ms = c->request_timeout_ms,
      .request_max_ms = c->request_max_ms,
      .start_ms = c->start_timeout_ms,
      .max_message = c->max_message,
      .max_own_lanes = c->max_own_lanes,
      .prefix_always = c->prefix == CONFIG_PREFIX_ALWAYS,
      .env = env,
  };
  g->upstreams = upstreams_new(&opt, c->upstreams, c->upstream_count, &direct_upstreams, g->direct, f);
  if (!g->upstreams) return false;
  direct_join(g->direct, &g->server, g->upstreams);
  timer_init(&g->drain_timer, on_drain_timeout);
  take_tokens(g);
  bool ok = c->transport == CONFIG_HTTP ? start_http(g, f) : start_stdio(g, f);
  // On stdio the upstreams are started with the one client's own capabilities, once it has told them.
  if (ok && c->transport == CONFIG_HTTP && !c->lazy) upstreams_start(g->upstreams);
  return ok;
}

int serve_run(const struct config *config, const struct guard *guard, char *const *env) {
  struct gateway *g = MEM_NEW(struct gateway);
  struct fault f;
  g->config = config;
  arena_init(&g->arena);
  g->log = (struct log){STDERR_FILENO, config->log_level, &clock_system};
  raise_descriptor_limit();
  loop_init(&g->loop, &g->log, &clock_system, &rand_system);
  watch_signals(g);
  if (!assemble(g, guard, env, &f)) {
    log_error(&g->log, "%s", f.message);
    g->status = 3;
    if (g->upstreams) stop_now(g);
    else on_upstreams_stopped(g);
  }
  loop_run(&g->loop);
  child_host_free(&g->children);
  loop_done(&g->loop);
  arena_done(&g->arena);
  int status = g->status;
  mem_free(g);
  return status;
}
