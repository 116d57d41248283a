// SPDX-License-Identifier: Apache-2.0
// What the caller wants besides the call itself: a rehearsal, and an end to the waiting. A meta-tool has arguments for
// it; in every mode it may stand in _meta. Of two wishes the more careful one holds.
#include "call/steps/step_options.h"
#include "base/assert.h"
#include "call/about.h"
#include "call/steps/step_resume.h"
#include "json/write.h"

static enum call_result refuse(struct call *c, const char *message) {
  struct fault f;
  fault_set(&f, FAULT_ARGS_INVALID, "%s", message);
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

// NULL: it was read. Else what is wrong.
static const char *read_caller_options(struct call *c) {
  const struct json *meta = json_get(c->request->msg.params, STR("_meta"));
  const struct json *dry = json_get(meta, STR("toolgate/dryRun")), *ms = json_get(meta, STR("toolgate/timeoutMs"));
  int64_t timeout = 0;
  bool dry_run_end = false;
  if (dry && !json_bool(dry, &dry_run_end)) return "toolgate/dryRun is true or false";
  c->options.dry_run |= dry_run_end;
  if (ms && (!json_int(ms, &timeout) || timeout < 1)) return "toolgate/timeoutMs is a whole number of milliseconds";
  if (ms && (!c->options.timeout_ms || (uint64_t)timeout < c->options.timeout_ms))
    c->options.timeout_ms = (uint64_t)timeout;
  return NULL;
}

// What is said to Toolgate is not for servers.
static void drop_wishes(struct request *r) {
  const struct json *params = r->msg.params, *meta = json_get(params, STR("_meta"));
  if (!json_is(meta, JSON_OBJECT) || json_is_folded(meta)) return;
  struct json_edit *edits = ARENA_ARRAY(&r->arena, struct json_edit, meta->count);
  size_t count = 0;
  JSON_EACH(m, meta) {
    str key = json_key(m, &r->arena);
    if (str_starts(key, STR("toolgate/"))) edits[count++] = (struct json_edit){key, STR_NONE};
  }
  if (!count) return;
  struct json_edit edit = {STR("_meta"), json_edited(&r->arena, meta, edits, count)};
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = r->session->server->limits.max_depth};
  struct fault f;
  const struct json *left = json_parse(&r->arena, json_edited(&r->arena, params, &edit, 1), &limits, &f);
  ASSERT(left);  // less of what was parsed before
  r->msg.params = left;
}

static void on_deadline(struct timer *t) {
  call_expire(CONTAINER_OF(t, struct call, deadline));
}

void call_hold(struct call *c) {
  uint64_t now = loop_now(c->context->loop);
  if (!timer_running(&c->deadline)) return;
  c->held_ms = c->deadline.at > now ? c->deadline.at - now : 1;
  timer_stop(&c->deadline);
}

void call_unhold(struct call *c) {
  if (!c->held_ms) return;
  timer_start(c->context->loop, &c->deadline, c->held_ms);
  c->held_ms = 0;
}

uint64_t call_spent(const struct call *c) {
  const struct ticket *ticket = call_ticket(c);
  return (ticket ? ticket->spent_ms : 0) + loop_now(c->context->loop) - c->began;
}

// One that answers questions has what the requests before it left.
static void start_deadline(struct call *c) {
  const struct ticket *ticket = call_ticket(c);
  uint64_t spent = ticket ? ticket->spent_ms : 0, whole = c->options.timeout_ms;
  timer_init(&c->deadline, on_deadline);
  timer_start(c->context->loop, &c->deadline, spent < whole ? whole - spent : 1);
}

static enum call_result run(struct call *c, void *state) {
  const char *wrong = read_caller_options(c);
  uint64_t most = upstreams_timeout_max(c->context->upstreams);
  if (wrong) return refuse(c, wrong);
  drop_wishes(c->request);
  // To do it all the same would be worse than to refuse.
  if (c->options.dry_run && !call_is_tool(c)) return refuse(c, "only calls of tools can be rehearsed (dry run)");
  if (c->options.timeout_ms && c->options.timeout_ms < most && call_may_ask(c)) start_deadline(c);
  return CALL_NEXT;
}

void call_expire(struct call *c) {
  struct fault f;
  double seconds = (double)c->options.timeout_ms / 1000;
  call_stop(c, STR("timed out"));
  if (c->route_count) {
    bool ruled = c->method->form == CALL_RULED;  // there it is in the caller's own unit
    if (ruled)
      fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "timed out after %llums", (unsigned long long)c->options.timeout_ms);
    else fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not answer within the %.6g s that the caller gave it", seconds);
    call_fault(c, &f);
  } else {
    fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "no server was there within the %.6g s that the caller gave it", seconds);
    fault_set_path(&f, c->about);
    call_end(c, &f, RPC_INTERNAL_ERROR, STR_NONE);
  }
}

const struct call_step step_options = {
    .name = "options",
    .does = "What the caller wants besides: a dry run, a deadline.",
    .run = run,
};
