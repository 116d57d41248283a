// SPDX-License-Identifier: Apache-2.0
#include "app/gateway_client/gateway_client.h"

#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "base/assert.h"

enum {
  SETTLE_MS = 1000,           // time added to the start timeout, because a failed start is noticed a little later
  PROGRESS_AFTER_MS = 2000,   // a request that takes longer shows the progress of the servers
  PROGRESS_EVERY_MS = 1000,   // interval at which the progress is updated
  OPERATOR_TOKENS = 1 << 20,  // result budget of the operator, who may see whole results
};

// ---- open and close

// Returns the settings of the operator's sessions. Commands wait for an answer from every server, for twice the start
// timeout: a server that does not answer the request for its protocol revision is started again for the handshake.
static struct session_operator operator_terms(const struct config *c, const struct config_options *opt) {
  uint64_t longest = c->start_timeout_ms;
  bool installs = false;
  for (size_t i = 0; i < c->upstream_count; i++) {
    if (c->upstreams[i].start_timeout_ms > longest) longest = c->upstreams[i].start_timeout_ms;
    installs |= spec_launcher(&c->upstreams[i]);
  }
  if (installs) longest += c->install_ms;
  return (struct session_operator){2 * longest + SETTLE_MS, opt->bounded ? 0 : OPERATOR_TOKENS, false};
}

// Loads the configuration. Returns false if it cannot be used at all. If it is broken but can identify a running
// gateway, returns true and sets *out_status to an exit code other than 0.
static bool load(struct gateway_client *client, const struct config_options *said, int *out_status) {
  struct config_options opt = *said;
  struct config_problems problems;
  opt.transport = "stdio";  // this command opens no listener, so its address is not checked
  opt.audits = true;
  if (!opt.log_level) opt.log_level = "warn";
  config_problems_init(&problems);
  bool ok = config_load(&client->config, &opt, environ, &problems) || client->config.broken;
  if (!opt.told) command_print_problems(&problems);
  *out_status = config_problems_status(&problems);
  for (size_t i = 0; i < problems.count; i++) client->left_out += problems.list[i].left_out;
  config_problems_done(&problems);
  if (ok) {
    client->terms = operator_terms(&client->config, &opt);
    client->config.record = false;  // calls of commands are not recorded
    client->config.once = true;
  } else {
    config_done(&client->config);
  }
  return ok;
}

static void on_stopped(void *ctx) {
}

static void on_running_wait(void *ctx, const struct json *status) {
  struct gateway_client *client = ctx;
  progress_show_status(&client->progress, status);
}

// Connects to a running gateway. Returns false with FAULT_NOT_FOUND if no gateway runs.
static bool connect_to_running(struct gateway_client *client, struct fault *f) {
  // This command waits only as long as an agent would for servers to start: they continue to start after the command
  // ends.
  const struct config *c = &client->config;
  ASSERT(!client->running && !client->in_process);
  struct session_operator terms = {.wait_ms = c->start_wait_ms, .result_tokens = client->terms.result_tokens};
  client->running = control_client_open(c, environ, &terms, c->agent, f);
  if (!client->running) return false;
  control_client_on_wait(client->running, on_running_wait, client);
  str stale = control_client_stale(client->running);
  if (stale.n)
    fprintf(stderr, "toolgate: the running gateway rejected the changed files and serves the previous ones: %.*s\n",
            STR_ARG(stale));
  if (c->broken) control_client_warn_broken(client->running);
  else if (c->log_level <= LOG_INFO)
    fprintf(stderr, "toolgate: using the running gateway, pid %d\n", control_client_pid(client->running));
  return true;
}

static bool is_wanted(const struct config_options *opt, str server) {
  size_t i = 0;
  while (i < opt->only_count && !str_eq(opt->only[i], server)) i++;
  return !opt->only || i < opt->only_count;
}

static void keep_wanted(struct config *c, const struct config_options *opt) {
  size_t kept = 0;
  for (size_t i = 0; i < c->upstream_count; i++) {
    if (is_wanted(opt, c->upstreams[i].name)) c->upstreams[kept++] = c->upstreams[i];
    else spec_done(&c->upstreams[i]);
  }
  c->upstream_count = kept;
}

bool gateway_client_open(struct gateway_client *client, const struct config_options *opt, int *out_status) {
  struct fault f;
  *client = (struct gateway_client){0};
  if (!load(client, opt, out_status)) return false;
  arena_init(&client->arena);
  rand_fill(&rand_system, &client->seed, sizeof client->seed);
  fault_set(&f, FAULT_NOT_FOUND, "no running gateway is used because of --fresh");
  if (!opt->fresh && connect_to_running(client, &f)) {
    *out_status = EXIT_OK;
    return true;
  }
  bool broken = client->config.broken && f.code == FAULT_NOT_FOUND;  // its problems were already printed
  if (f.code == FAULT_NOT_FOUND && !broken && guard_start(&client->guard, &f)) {
    client->in_process = true;
    keep_wanted(&client->config, opt);
    if (gateway_init(&client->gateway, &client->config, &client->guard, environ, &f)) return true;
  }
  gateway_client_close(client);
  if (broken) return false;
  *out_status = command_failed(&f, EXIT_CANNOT);
  return false;
}

static void close_loopbacks(struct gateway_client *client) {
  for (int mode = 0; mode < MODE_COUNT; mode++) loopback_free(&client->loopbacks[mode]);
}

void gateway_client_close(struct gateway_client *client) {
  ASSERT(!client->running || !client->in_process);
  control_client_close(&client->running);
  if (client->in_process) {
    close_loopbacks(client);
    gateway_stop(&client->gateway, on_stopped, NULL);
    loop_run(&client->gateway.loop);
    gateway_done(&client->gateway);
  }
  arena_done(&client->arena);
  config_done(&client->config);
}

void gateway_client_set_mode(struct gateway_client *client, enum surface_mode mode) {
  ASSERT((int)mode < MODE_COUNT);
  struct client_identity identity = {
      .principal = -1,
      .mode = (int)mode,
      .name = client->gateway.server.local,
      .agent = client->config.agent,
      .as_operator = &client->terms,
  };
  client->mode = mode;
  if (client->in_process && !client->loopbacks[mode])
    client->loopbacks[mode] = loopback_new(&client->gateway.server, identity);
}

// ---- requests

struct client_answer {
  struct gateway_client *client;
  bool given;
  const struct json *result;
  struct fault fault;
};

static void on_answer(void *ctx, const struct json *result, const struct fault *f) {
  struct client_answer *a = ctx;
  struct arena *arena = &a->client->arena;
  ASSERT(!a->given && !result != !f);
  a->given = true;
  if (f) a->fault = *f;
  else a->result = json_parse(arena, arena_str(arena, json_span(result)), &json_default_limits, &a->fault);
  uv_stop(&a->client->gateway.loop.uv);
}

static void on_progress_timer(struct timer *t) {
  struct gateway_client *client = CONTAINER_OF(t, struct gateway_client, progress_timer);
  progress_show(&client->progress, client->gateway.upstreams);
  timer_start(&client->gateway.loop, t, PROGRESS_EVERY_MS);
}

static const struct json *request_in_process(struct gateway_client *client, str method, str params, struct fault *f) {
  struct client_answer a = {.client = client};
  fault_set(&a.fault, FAULT_SHUTTING_DOWN, "the gateway ended before it answered: run the command again");
  ASSERT(client->in_process);
  if (client->loopbacks[client->mode]) {
    timer_init(&client->progress_timer, on_progress_timer);
    timer_start(&client->gateway.loop, &client->progress_timer, PROGRESS_AFTER_MS);
    loopback_request(client->loopbacks[client->mode], method, params, on_answer, &a);
    loop_run(&client->gateway.loop);
    timer_stop(&client->progress_timer);
    if (!a.given) close_loopbacks(client);  // Prevents a late answer from being written to `a`, which is on the stack.
  }
  if (!a.result) *f = a.fault;
  return a.result;
}

const struct json *gateway_client_request(struct gateway_client *client, str method, str params, struct fault *f) {
  const struct json *result;
  ASSERT(!client->running == client->in_process);
  if (client->running)
    result = control_client_mcp_request(client->running, &client->arena, client->mode, method, params, f);
  else result = request_in_process(client, method, params, f);
  progress_end(&client->progress);
  return result;
}

const struct json *gateway_client_call_tool(struct gateway_client *client, str tool, str arguments, str meta,
                                            struct fault *f) {
  struct buf params;
  buf_init(&params, tool.n * 6 + arguments.n + meta.n + 64);
  struct json_writer w = json_writer(&params);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), tool);
  json_member_raw(&w, STR("arguments"), arguments);
  if (meta.p) json_member_raw(&w, STR("_meta"), meta);
  json_end_object(&w);
  ASSERT(!params.over && arguments.n);
  const struct json *result = gateway_client_request(client, STR("tools/call"), buf_view(&params), f);
  buf_done(&params);
  return result;
}

void gateway_client_wait_servers(struct gateway_client *client) {
  enum surface_mode mode = client->mode;
  struct fault f;
  gateway_client_set_mode(client, MODE_DIRECT);
  // Waits: the gateway answers tools/list when every server is ready or has failed.
  gateway_client_request(client, STR("tools/list"), STR_NONE, &f);
  client->mode = mode;
}
