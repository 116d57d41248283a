// SPDX-License-Identifier: Apache-2.0
#include "app/visit.h"

#include <stdio.h>
#include <unistd.h>

#include "app/command.h"

enum {
  SETTLE_MS = 1000,         // that a server failed to start in time is known a little later
  PATIENCE_MS = 2000,       // then is said whom we wait for
  RESULT_TOKENS = 1 << 20,  // whoever has the configuration may see all of a result
};

// ---- coming and going

// Somebody waits at a terminal for an answer that needs every server: they have all the time that they may take.
static struct session_operator terms_of(const struct config *c, const struct config_options *opt) {
  uint64_t longest = c->start_timeout_ms;
  for (size_t i = 0; i < c->upstream_count; i++)
    if (c->upstreams[i].start_timeout_ms > longest) longest = c->upstreams[i].start_timeout_ms;
  return (struct session_operator){longest + SETTLE_MS, opt->bounded ? 0 : RESULT_TOKENS};
}

static bool load(struct visit *v, const struct config_options *said, int *out_status) {
  struct config_options opt = *said;
  struct config_problems problems;
  opt.transport = "stdio";  // nobody listens, so nothing about listening can be wrong
  if (!opt.log_level) opt.log_level = "warn";
  config_problems_init(&problems);
  bool ok = config_load(&v->config, &opt, environ, &problems);
  if (!opt.told) command_print_problems(&problems);
  *out_status = config_problems_status(&problems);
  config_problems_done(&problems);
  if (ok) {
    v->terms = terms_of(&v->config, &opt);
    v->config.record = false;  // a command is no conversation
  } else {
    config_done(&v->config);
  }
  return ok;
}

static void on_stopped(void *ctx) {
}

static bool cannot(const struct fault *f, int *out_status) {
  fprintf(stderr, "toolgate: %s\n", f->message);
  *out_status = EXIT_CANNOT;
  return false;
}

bool visit_open(struct visit *v, const struct config_options *opt, int *out_status) {
  struct fault f;
  *v = (struct visit){0};
  if (!guard_start(&v->guard, &f)) return cannot(&f, out_status);
  if (!load(v, opt, out_status)) return false;
  arena_init(&v->arena);
  if (gateway_init(&v->gateway, &v->config, &v->guard, environ, &f)) return true;
  visit_close(v);
  return cannot(&f, out_status);
}

static void leave(struct visit *v) {
  for (int mode = 0; mode < MODE_COUNT; mode++) loopback_free(&v->clients[mode]);
  v->client = NULL;
}

void visit_close(struct visit *v) {
  leave(v);
  gateway_stop(&v->gateway, on_stopped, NULL);
  loop_run(&v->gateway.loop);
  gateway_done(&v->gateway);
  arena_done(&v->arena);
  config_done(&v->config);
}

void visit_enter(struct visit *v, enum surface_mode mode) {
  struct visitor who = {
      .principal = -1,
      .face = (int)mode,
      .name = v->gateway.server.local,
      .agent = v->config.agent,
      .as_operator = &v->terms,
  };
  if (!v->clients[mode]) v->clients[mode] = loopback_new(&v->gateway.server, who);
  v->client = v->clients[mode];
}

// ---- asking

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
  const struct upstreams *u = v->gateway.upstreams;
  for (unsigned i = 0; i < upstreams_count(u); i++) {
    const struct lane *lane = upstreams_lane_seen(u, i, loopback_session(v->client));
    if (lane && lane->state == LANE_STARTING)
      fprintf(stderr, "toolgate: waiting for %.*s to start\n", STR_ARG(upstreams_name(u, i)));
  }
}

const struct json *visit_request(struct visit *v, str method, str params, struct fault *f) {
  struct answer a = {.visit = v};
  timer_init(&v->patience, on_patience);
  timer_start(&v->gateway.loop, &v->patience, PATIENCE_MS);
  loopback_request(v->client, method, params, on_answer, &a);
  loop_run(&v->gateway.loop);
  timer_stop(&v->patience);
  if (!a.given) {
    leave(v);  // nobody must answer into what is gone
    fault_set(&a.fault, FAULT_SHUTTING_DOWN, "the gateway ended without an answer");
  }
  if (!a.result) *f = a.fault;
  return a.result;
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
  struct loopback *client = v->client;
  struct fault f;
  visit_enter(v, MODE_DIRECT);
  visit_request(v, STR("tools/list"), STR_NONE, &f);  // waits for them, as every list does
  if (v->client) v->client = client;
}
