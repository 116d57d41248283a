// SPDX-License-Identifier: Apache-2.0
#include "app/visit/visit.h"

#include <stdio.h>
#include <unistd.h>

#include "app/cli/command.h"

enum {
  SETTLE_MS = 1000,         // that a server failed to start in time is known a little later
  PATIENCE_MS = 2000,       // then the progress of servers is shown ...
  TICK_MS = 1000,           // ... this often
  RESULT_TOKENS = 1 << 20,  // whoever has the configuration may see all of a result
};

// ---- coming and going

// A person at a terminal waits for an answer that needs every server, so each server has its full time to start: twice,
// because a server that does not answer the probe of its revision is started again for the handshake.
static struct session_operator terms_of(const struct config *c, const struct config_options *opt) {
  uint64_t longest = c->start_timeout_ms;
  for (size_t i = 0; i < c->upstream_count; i++)
    if (c->upstreams[i].start_timeout_ms > longest) longest = c->upstreams[i].start_timeout_ms;
  for (size_t i = 0; i < c->upstream_count; i++)
    if (spec_launcher(&c->upstreams[i])) {
      longest += c->install_ms;
      break;
    }
  return (struct session_operator){2 * longest + SETTLE_MS, opt->bounded ? 0 : RESULT_TOKENS, false};
}

// True, with *out_status not 0: the configuration is broken.
static bool load(struct visit *v, const struct config_options *said, int *out_status) {
  struct config_options opt = *said;
  struct config_problems problems;
  opt.transport = "stdio";  // nobody listens, so nothing about listening can be wrong
  opt.audits = true;
  if (!opt.log_level) opt.log_level = "warn";
  config_problems_init(&problems);
  bool ok = config_load(&v->config, &opt, environ, &problems) || v->config.broken;
  if (!opt.told) command_print_problems(&problems);
  *out_status = config_problems_status(&problems);
  for (size_t i = 0; i < problems.count; i++) v->left_out += problems.list[i].left_out;
  config_problems_done(&problems);
  if (ok) {
    v->terms = terms_of(&v->config, &opt);
    v->config.record = false;  // a command is no conversation
    v->config.once = true;
  } else {
    config_done(&v->config);
  }
  return ok;
}

static void on_stopped(void *ctx) {
}

static void on_remote_wait(void *ctx, const struct json *status) {
  struct visit *v = ctx;
  progress_show_status(&v->progress, status);
}

// False, with FAULT_NOT_FOUND: no gateway runs.
static bool join_running(struct visit *v, struct fault *f) {
  // Its servers go on starting when the command has ended, so it waits no longer than an agent does.
  struct session_operator terms = {.wait_ms = v->config.start_wait_ms, .result_tokens = v->terms.result_tokens};
  v->remote = remote_open(&v->config, environ, &terms, v->config.agent, f);
  if (!v->remote) return false;
  remote_on_wait(v->remote, on_remote_wait, v);
  str stale = remote_stale(v->remote);
  if (stale.n)
    fprintf(stderr, "toolgate: the running gateway did not take the changed files and serves the ones before: %.*s\n",
            STR_ARG(stale));
  if (v->config.broken) remote_say_broken(v->remote);
  else if (v->config.log_level <= LOG_INFO)
    fprintf(stderr, "toolgate: asking the running gateway, pid %d\n", remote_pid(v->remote));
  return true;
}

static bool start_own(struct visit *v, struct fault *f) {
  if (!guard_start(&v->guard, f)) return false;
  v->own = true;
  return gateway_init(&v->gateway, &v->config, &v->guard, environ, f);
}

bool visit_open(struct visit *v, const struct config_options *opt, int *out_status) {
  struct fault f;
  *v = (struct visit){0};
  if (!load(v, opt, out_status)) return false;
  arena_init(&v->arena);
  rand_fill(&rand_system, &v->seed, sizeof v->seed);
  fault_set(&f, FAULT_NOT_FOUND, "none was looked for");
  if (!opt->fresh && join_running(v, &f)) {
    *out_status = EXIT_OK;
    return true;
  }
  bool broken = v->config.broken && f.code == FAULT_NOT_FOUND;  // which was said
  if (f.code == FAULT_NOT_FOUND && !broken && start_own(v, &f)) return true;
  visit_close(v);
  if (broken) return false;
  fprintf(stderr, "toolgate: %s\n", f.message);
  *out_status = EXIT_CANNOT;
  return false;
}

static void leave(struct visit *v) {
  for (int mode = 0; mode < MODE_COUNT; mode++) loopback_free(&v->clients[mode]);
}

void visit_close(struct visit *v) {
  remote_close(&v->remote);
  if (v->own) {
    leave(v);
    gateway_stop(&v->gateway, on_stopped, NULL);
    loop_run(&v->gateway.loop);
    gateway_done(&v->gateway);
  }
  arena_done(&v->arena);
  config_done(&v->config);
}

void visit_enter(struct visit *v, enum surface_mode mode) {
  struct client_identity who = {
      .principal = -1,
      .mode = (int)mode,
      .name = v->gateway.server.local,
      .agent = v->config.agent,
      .as_operator = &v->terms,
  };
  v->mode = mode;
  if (v->own && !v->clients[mode]) v->clients[mode] = loopback_new(&v->gateway.server, who);
}

// ---- asking our own gateway

struct answer {
  struct visit *visit;
  bool given;
  const struct json *result;
  struct fault fault;
};

static void on_answer(void *ctx, const struct json *result, const struct fault *f) {
  struct answer *a = ctx;
  struct arena *arena = &a->visit->arena;
  a->given = true;
  if (f) a->fault = *f;
  else a->result = json_parse(arena, arena_str(arena, json_span(result)), &json_default_limits, &a->fault);
  uv_stop(&a->visit->gateway.loop.uv);
}

// Whoever waits at a terminal wants to know what for.
static void on_patience(struct timer *t) {
  struct visit *v = CONTAINER_OF(t, struct visit, patience);
  progress_show(&v->progress, v->gateway.upstreams);
  timer_start(&v->gateway.loop, t, TICK_MS);
}

static const struct json *request_own(struct visit *v, str method, str params, struct fault *f) {
  struct answer a = {.visit = v};
  fault_set(&a.fault, FAULT_SHUTTING_DOWN, "the gateway ended without an answer");
  if (v->clients[v->mode]) {
    timer_init(&v->patience, on_patience);
    timer_start(&v->gateway.loop, &v->patience, PATIENCE_MS);
    loopback_request(v->clients[v->mode], method, params, on_answer, &a);
    loop_run(&v->gateway.loop);
    timer_stop(&v->patience);
    if (!a.given) leave(v);  // nobody must answer into what is gone
  }
  if (!a.result) *f = a.fault;
  return a.result;
}

// ---- either

const struct json *visit_request(struct visit *v, str method, str params, struct fault *f) {
  const struct json *result =
      v->remote ? remote_ask(v->remote, &v->arena, v->mode, method, params, f) : request_own(v, method, params, f);
  progress_end(&v->progress);
  return result;
}

const struct json *visit_call(struct visit *v, str tool, str arguments, struct fault *f) {
  struct buf params;
  buf_init(&params, tool.n * 6 + arguments.n + 64);
  struct json_writer w = json_writer(&params);
  json_begin_object(&w);
  json_member_str(&w, STR("name"), tool);
  json_member_raw(&w, STR("arguments"), arguments);
  json_end_object(&w);
  const struct json *result = visit_request(v, STR("tools/call"), buf_view(&params), f);
  buf_done(&params);
  return result;
}

void visit_settle(struct visit *v) {
  enum surface_mode mode = v->mode;
  struct fault f;
  visit_enter(v, MODE_DIRECT);
  visit_request(v, STR("tools/list"), STR_NONE, &f);  // waits for them, as every list does
  v->mode = mode;
}
