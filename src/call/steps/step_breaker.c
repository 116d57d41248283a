// SPDX-License-Identifier: Apache-2.0
// Refuses a governed call while the circuit breaker of its capability is open, or if its egress budget is used up. A
// read-only call may then be answered with an old result from the cache.
#include <math.h>

#include "base/assert.h"
#include "call/steps/steps.h"
#include "effect/breakers.h"
#include "effect/egress.h"
#include "observe/govern_metrics.h"
#include "observe/metrics.h"
#include "json/write.h"

enum { DRAIN_MS = 1000 };  // if a server sends 429 without a time

struct breaker_state {
  bool passed;    // the call was counted, and must be ended
  bool probe;     // the breaker is half open
  bool budgeted;  // the call was taken from the egress budget
  str key;        // capability and tenant
};

static struct breaker_state *state_of(const struct call *c) {
  return call_state(c, STEP_BREAKER);
}

static str key_of(const struct call *c, struct arena *a) {
  str tenant = STR(""), id = call_capability(c)->id;
  json_string(json_get(c->run->governed.context, STR("tenant")), a, &tenant);
  return arena_printf(a, "%zu %.*s %.*s", id.n, STR_ARG(id), STR_ARG(tenant));
}

static void count(struct call *c, enum governed_limit limit) {
  if (c->context->metrics) govern_metrics_limit(metrics_governed(c->context->metrics), limit);
}

static enum call_result refuse(struct call *c, enum fault_code code, const char *limit, uint64_t after_ms) {
  struct fault f;
  struct buf details;
  str id = call_capability(c)->id;
  if (code == FAULT_CIRCUIT_OPEN)
    fault_set(&f, code, "%.*s is not called now, because its last calls failed; try again later", STR_ARG(id));
  else fault_set(&f, code, "the egress budget of %.*s is used up (%s); try again later", STR_ARG(id), limit);
  fault_set_path(&f, c->about);
  f.after_ms = after_ms;
  buf_init(&details, 512);
  struct json_writer w = json_writer(&details);
  json_begin_object(&w);
  if (limit) json_member_str(&w, STR("limit"), str_of(limit));
  json_member_u64(&w, STR("retry_after_ms"), after_ms);
  json_member_seconds(&w, STR("retry_after"), after_ms);
  json_end_object(&w);
  enum call_result r = call_end(c, &f, RPC_INVALID_PARAMS, buf_view(&details));
  buf_done(&details);
  return r;
}

// A call that has an effect is a probe only if no other call is in flight: it is sent once, like every other call.
static bool is_safe(const struct governance_capability *c) {
  return c->class != CLASS_ACT || c->idempotency == IDEMPOTENCY_NATIVE;
}

static enum call_result pass_breaker(struct call *c, struct breaker_state *s) {
  struct call_context *x = c->context;
  const struct governance_capability *capability = call_capability(c);
  const struct breaker_limits *limits = governance_breaker(capability);
  uint64_t after_ms = 0;
  if (!limits->enabled) return CALL_NEXT;
  if (!x->breakers) x->breakers = breakers_new(&x->loop->seed, x->store, x->loop->clock);
  enum breaker_pass pass = breakers_begin(x->breakers, s->key, limits, !is_safe(capability), &after_ms);
  s->probe = pass == BREAKER_PROBE;
  s->passed = pass != BREAKER_OPEN;
  if (s->passed) return CALL_NEXT;
  if (cache_answer_degraded(c, (uint64_t)(limits->degraded_s * 1000))) {
    count(c, GOVERNED_LIMIT_DEGRADED);
    return CALL_DONE;
  }
  count(c, GOVERNED_LIMIT_CIRCUIT_OPEN);
  return refuse(c, FAULT_CIRCUIT_OPEN, NULL, after_ms);
}

static enum call_result take_budget(struct call *c, struct breaker_state *s) {
  struct call_context *x = c->context;
  const struct egress_limits *limits = governance_egress(call_capability(c));
  uint64_t after_ms = 0;
  if (!limits) return CALL_NEXT;
  if (!x->egress) x->egress = egress_new(x->loop, x->store);
  struct egress_use use = {s->key, limits, call_capability(c)->cost};
  const char *limit = egress_take(x->egress, &use, &after_ms);
  s->budgeted = !limit;
  if (!limit) return CALL_NEXT;
  count(c, GOVERNED_LIMIT_EGRESS);
  return refuse(c, FAULT_EGRESS_BUDGET_EXCEEDED, limit, after_ms);
}

static enum call_result run(struct call *c, void *state) {
  struct breaker_state *s = state;
  const struct governance_capability *capability = call_capability(c);
  if (!capability || call_ticket(c) || s->passed || s->budgeted) return CALL_NEXT;
  if (!governance_breaker(capability)->enabled && !governance_egress(capability)) return CALL_NEXT;
  s->key = key_of(c, &c->request->arena);
  enum call_result r = pass_breaker(c, s);
  return r == CALL_NEXT ? take_budget(c, s) : r;
}

// ---- the end of the call

// Returns whether an error of the server says that the server, not the request, has a problem.
static bool is_server_error(const struct call_failure *f) {
  return f->code == RPC_INTERNAL_ERROR || (f->code >= 500 && f->code < 600);
}

static enum breaker_outcome outcome_of(const struct call *c, bool cancelled) {
  if (cancelled || (!c->sent && !(c->failure && c->failure->fault.code == FAULT_UPSTREAM_UNAVAILABLE)))
    return BREAKER_SKIPPED;
  if (!c->failure) return BREAKER_SUCCEEDED;
  switch (c->failure->fault.code) {
  case FAULT_UPSTREAM_TIMEOUT:
  case FAULT_UPSTREAM_UNAVAILABLE:
  case FAULT_UPSTREAM_SESSION_LOST:
  case FAULT_PROTOCOL: return BREAKER_FAILED;
  case FAULT_UPSTREAM_ERROR: return is_server_error(c->failure) ? BREAKER_FAILED : BREAKER_SKIPPED;
  default: return BREAKER_SKIPPED;
  }
}

static void report_change(const struct call *c, enum breaker_change change) {
  const struct log *log = c->context->loop->log;
  str id = call_capability(c)->id;
  if (change == BREAKER_OPENS) log_warn(log, "the circuit breaker of %.*s opens: its calls are refused", STR_ARG(id));
  if (change == BREAKER_CLOSES) log_info(log, "the circuit breaker of %.*s closes", STR_ARG(id));
  if (change == BREAKER_OPENS) count((struct call *)c, GOVERNED_LIMIT_BREAKER_OPENED);
}

static void end(struct call *c, enum breaker_outcome outcome) {
  struct call_context *x = c->context;
  struct breaker_state *s = state_of(c);
  const struct governance_capability *capability = call_capability(c);
  if (s->passed) {
    s->passed = false;
    report_change(c, breakers_end(x->breakers, s->key, governance_breaker(capability), s->probe, outcome));
  }
  if (!s->budgeted) return;
  s->budgeted = false;
  if (!c->sent) egress_refund(x->egress, &(struct egress_use){s->key, governance_egress(capability), capability->cost});
}

void breaker_ended(struct call *c, bool cancelled) {
  struct breaker_state *s = state_of(c);
  if (!s->passed && !s->budgeted) return;
  const struct call_failure *f = c->failure;
  if (s->budgeted && c->sent && f && f->fault.code == FAULT_RATE_LIMITED)
    egress_drain(c->context->egress, s->key, f->fault.after_ms ? f->fault.after_ms : DRAIN_MS);
  end(c, outcome_of(c, cancelled));
}

// A call that ends without a report, such as a parked call that is given up.
static void done(struct call *c, void *state) {
  end(c, BREAKER_SKIPPED);
}

// The key is in the request's memory, which ends before a parked call.
static void detach(struct call *c, void *state, struct arena *a) {
  struct breaker_state *s = state;
  if (a) s->key = call_kept(a, s->key);
}

const struct call_step step_breaker = {
    .name = "breaker",
    .does = "Refuses a governed call whose circuit breaker is open or whose egress budget is used up.",
    .state = sizeof(struct breaker_state),
    .run = run,
    .detach = detach,
    .done = done,
};
