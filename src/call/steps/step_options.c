// SPDX-License-Identifier: Apache-2.0
// Reads the caller's options: a dry run, and a deadline. A caller sets these options by arguments of a meta-tool or, in
// every mode, by members of _meta. If an option is set in both places, the stricter value applies.
#include "base/assert.h"
#include "call/steps/steps.h"
#include "govern/signing.h"
#include "schema/exact.h"
#include "json/write.h"

enum { RUN_ID_MAX = 64 };

struct options_state {
  struct call *call;      // NULL: no deadline
  struct timer deadline;  // ends the call at the caller's deadline
  uint64_t held_ms;       // time left while the client answers a question; 0: the deadline is not held
};

static struct options_state *state_of(const struct call *c) {
  return call_state(c, STEP_OPTIONS);
}

// ---- the deadline

static void on_deadline(struct timer *t);

void call_deadline_limit(struct call *c, uint64_t ms) {
  struct options_state *s = state_of(c);
  uint64_t now = loop_now(c->context->loop);
  ASSERT(ms && !s->held_ms);
  if (s->call && timer_running(&s->deadline) && s->deadline.at <= now + ms) return;
  if (s->call) timer_stop(&s->deadline);
  else timer_init(&s->deadline, on_deadline);
  s->call = c;
  c->options.timeout_ms = ms;
  timer_start(c->context->loop, &s->deadline, ms);
}

void call_deadline_end(struct call *c) {
  struct options_state *s = state_of(c);
  if (s->call) timer_stop(&s->deadline);
  s->held_ms = 0;
}

uint64_t call_deadline(const struct call *c) {
  const struct options_state *s = state_of(c);
  return s->call && timer_running(&s->deadline) ? s->deadline.at : UINT64_MAX;
}

void call_deadline_hold(struct call *c) {
  struct options_state *s = state_of(c);
  uint64_t now = loop_now(c->context->loop);
  if (!s->call || !timer_running(&s->deadline)) return;
  s->held_ms = s->deadline.at > now ? s->deadline.at - now : 1;
  timer_stop(&s->deadline);
}

void call_deadline_release(struct call *c) {
  struct options_state *s = state_of(c);
  if (!s->held_ms) return;
  ASSERT(s->call && !timer_running(&s->deadline));
  timer_start(c->context->loop, &s->deadline, s->held_ms);
  s->held_ms = 0;
}

uint64_t call_spent(const struct call *c) {
  const struct ticket *ticket = call_ticket(c);
  return (ticket ? ticket->spent_ms : 0) + loop_now(c->context->loop) - c->began;
}

static void cancel(struct call *c, void *state, str reason) {
  call_deadline_end(c);
}

static void on_deadline(struct timer *t) {
  struct call *c = CONTAINER_OF(t, struct options_state, deadline)->call;
  unsigned long long ms = c->options.timeout_ms;
  struct fault f;
  call_stop(c, STR("timed out"));
  if (!c->route_count) {
    fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "no server was ready within the caller's timeout of %.6g s",
              (double)ms / 1000);
    fault_set_path(&f, c->about);
    call_end(c, &f, RPC_INTERNAL_ERROR, STR_NONE);
    return;
  }
  if (c->method->form == CALL_RULED) fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "timed out after %llums", ms);
  else fault_set(&f, FAULT_UPSTREAM_TIMEOUT, "did not answer within the caller's timeout of %.6g s", (double)ms / 1000);
  call_fault(c, &f);
}

// ---- the step

static enum call_result refuse(struct call *c, const char *message) {
  struct fault f;
  fault_set(&f, FAULT_ARGS_INVALID, "%s", message);
  fault_set_path(&f, c->about);
  return call_end(c, &f, RPC_INVALID_PARAMS, STR_NONE);
}

static bool read_limit(const struct json *run, const char *key, uint64_t *out) {
  const struct json *v = json_get(run, str_of(key));
  return !v || (exact_count(v, out) && *out > 0);
}

// Reads toolgate/run. Returns NULL, or an error message.
static const char *read_run(struct call *c, const struct json *run) {
  static const str known[] = {STR("id"), STR("maxCalls"), STR("maxMs"), STR("maxCallMs"), STR("maxCost")};
  struct caller_options *o = &c->options;
  const struct json *cost = json_get(run, STR("maxCost"));
  o->run_budget = (struct run_budget){.max_cost = -1};
  if (!json_string(json_get(run, STR("id")), &c->request->arena, &o->run_id) || !o->run_id.n ||
      o->run_id.n > RUN_ID_MAX)
    return "toolgate/run needs an \"id\" of 1 to 64 bytes";
  JSON_EACH(it, run)
    if (!json_key_in(it, known, sizeof known / sizeof *known))
      return "toolgate/run may have id, maxCalls, maxMs, maxCallMs and maxCost only";
  if (!read_limit(run, "maxCalls", &o->run_budget.max_calls) || !read_limit(run, "maxMs", &o->run_budget.max_wall_ms) ||
      !read_limit(run, "maxCallMs", &o->run_budget.max_call_ms))
    return "maxCalls, maxMs and maxCallMs of toolgate/run must be whole numbers above 0";
  if (cost && !(json_double(cost, &o->run_budget.max_cost) && o->run_budget.max_cost >= 0))
    return "maxCost of toolgate/run must be a number of at least 0";
  return NULL;
}

// Reads the caller's options in _meta. Returns NULL on success, otherwise an error message.
static const char *read_options(struct call *c) {
  const struct json *meta = json_get(c->request->msg.params, STR("_meta"));
  const struct json *dry = json_get(meta, STR("toolgate/dryRun")), *ms = json_get(meta, STR("toolgate/timeoutMs"));
  int64_t timeout = 0;
  bool dry_run = false;
  if (dry && !json_bool(dry, &dry_run)) return "toolgate/dryRun must be true or false";
  if (c->session->as_operator)
    json_string(json_get(meta, STR("toolgate/resendUnknown")), &c->request->arena, &c->options.resend_unknown);
  const struct json *mode = json_get(meta, STR("toolgate/mode"));
  const struct json *safety = json_get(meta, STR("toolgate/safetyMode"));
  if (mode && !json_string(mode, &c->request->arena, &c->options.mode)) return "toolgate/mode must be a string";
  if (safety && (!json_string(safety, &c->request->arena, &c->options.safety_mode) ||
                 approval_mode_find(c->options.safety_mode) == APPROVAL_NONE))
    return "toolgate/safetyMode must be read_only, local_write, network, delegated or destructive";
  const struct json *named = json_get(meta, STR("toolgate/run"));
  const char *wrong = named ? read_run(c, named) : NULL;
  if (wrong) return wrong;
  c->options.dry_run |= dry_run;
  if (ms && (!json_int(ms, &timeout) || timeout < 1))
    return "toolgate/timeoutMs must be a whole number of milliseconds";
  if (ms && (!c->options.timeout_ms || (uint64_t)timeout < c->options.timeout_ms))
    c->options.timeout_ms = (uint64_t)timeout;
  return NULL;
}

// Removes the members of _meta that only Toolgate reads, so that they are not sent to servers. With a governance file,
// removes the signed decision too, which only the gateway may send.
static void remove_options(struct request *r, bool governs) {
  const struct json *params = r->msg.params, *meta = json_get(params, STR("_meta"));
  if (!json_is(meta, JSON_OBJECT) || json_is_folded(meta)) return;
  struct json_edit *edits = ARENA_ARRAY(&r->arena, struct json_edit, meta->count);
  size_t count = 0;
  JSON_EACH(m, meta) {
    str key = json_key(m, &r->arena);
    if (str_starts(key, STR("toolgate/")) || (governs && str_eq(key, DECISION_META)))
      edits[count++] = (struct json_edit){key, STR_NONE};
  }
  if (!count) return;
  struct json_edit edit = {STR("_meta"), json_edited(&r->arena, meta, edits, count)};
  struct json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = r->session->server->limits.max_depth};
  struct fault f;
  const struct json *left = json_parse(&r->arena, json_edited(&r->arena, params, &edit, 1), &limits, &f);
  ASSERT(left);  // cannot fail: the params were parsed before
  r->msg.params = left;
}

static enum call_result run(struct call *c, void *state) {
  struct options_state *s = state;
  struct caller_options *o = &c->options;
  const char *wrong = read_options(c);
  if (wrong) return refuse(c, wrong);
  remove_options(c->request, c->context->rules && c->context->rules->governance);
  if (o->dry_run && !call_is_tool(c)) return refuse(c, "a dry run is possible only for tool calls");
  if (!o->timeout_ms || o->timeout_ms >= upstreams_timeout_max(c->context->upstreams) || !call_may_ask(c))
    return CALL_NEXT;
  // The time until the deadline starts with the client's first request. A request with answers has only the time that
  // is left.
  const struct ticket *ticket = call_ticket(c);
  uint64_t spent = ticket ? ticket->spent_ms : 0;
  s->call = c;
  timer_init(&s->deadline, on_deadline);
  timer_start(c->context->loop, &s->deadline, spent < o->timeout_ms ? o->timeout_ms - spent : 1);
  return CALL_NEXT;
}

const struct call_step step_options = {
    .name = "options",
    .does = "Reads the caller's options: a dry run, a deadline.",
    .state = sizeof(struct options_state),
    .run = run,
    .cancel = cancel,
};
