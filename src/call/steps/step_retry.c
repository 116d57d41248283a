// SPDX-License-Identifier: Apache-2.0
// If configured, repeats a call after a delay when the server could not be reached or did not answer. A call that the
// server has answered is not repeated, even if the answer is an error.
#include "base/assert.h"
#include "call/bridge/parked_calls.h"
#include "call/bridge/task_bridge.h"
#include "call/steps/steps.h"
#include "result/envelope/fault_forms.h"

struct retry_state {
  struct call *call;  // NULL: the call never waited
  struct timer timer;
  unsigned retries;
};

unsigned call_retries(const struct call *c) {
  const struct retry_state *s = call_state(c, STEP_RETRY);
  return s->retries;
}

static void cancel(struct call *c, void *state, str reason) {
  struct retry_state *s = state;
  if (s->call) timer_stop(&s->timer);
}

static void on_waited(struct timer *t) {
  struct retry_state *s = CONTAINER_OF(t, struct retry_state, timer);
  ASSERT(s->call && s->retries);
  call_restart(s->call, STEP_CONNECT);
}

static uint64_t time_left(const struct call *c) {
  struct call_context *x = c->context;
  uint64_t now = loop_now(x->loop), end = c->began + upstreams_timeout_max(x->upstreams);
  if (call_deadline(c) < end) end = call_deadline(c);
  return now < end ? end - now : 0;
}

uint64_t call_time_max(const struct call *c) {
  if (!call_retries(c)) return upstreams_timeout_max(c->context->upstreams);
  uint64_t left = time_left(c);
  return left ? left : 1;
}

// Returns the minimum delay before the next attempt: the delay that the server asked for, but at least the time until a
// lost connection is opened again.
static uint64_t not_before(const struct call *c, const struct fault *f) {
  struct call_context *x = c->context;
  struct lane_user who = call_user(c);
  const struct lane *lane = upstreams_lane_find_for(x->upstreams, c->routes[c->route].source, &who);
  uint64_t now = loop_now(x->loop), wait = f->after_ms;
  if (lane && lane->state == LANE_DOWN && lane->retry_at > now + wait) wait = lane->retry_at - now;
  return wait;
}

// Returns the rule for this call: the configured rule, with the tool's values from a governance file instead if there
// are any.
static struct retry_rule rule_of(const struct call *c) {
  struct retry_rule rule = c->context->controls.retry;
  const struct governance_capability *g = call_capability(c);
  if (!g || !g->retry.set) return rule;
  rule.max_attempts = (unsigned)g->retry.max_attempts;
  if (g->retry.base_delay >= 0) rule.base_ms = (uint64_t)(g->retry.base_delay * 1000);
  if (g->retry.max_delay >= 0) rule.max_ms = (uint64_t)(g->retry.max_delay * 1000);
  return rule;
}

// Sets whether the call may be sent again although the server may have carried it out. For a governed call, the
// governance file decides, because the hints of a server are not verified.
static void judge_repeat(const struct call *c, struct retry_case *out) {
  const struct governance_capability *g = call_capability(c);
  const struct tool_hints *hints = c->item && call_is_tool(c) ? &c->item->hints : NULL;
  out->repeatable = !call_is_tool(c) || (hints && (hints->read_only || hints->idempotent));
  out->destructive = hints && hints->destructive;
  if (!g) return;
  out->repeatable = g->class != CLASS_ACT || g->idempotency == IDEMPOTENCY_NATIVE;
  out->destructive = !out->repeatable;
}

bool call_retry(struct call *c, const struct fault *f) {
  struct call_context *x = c->context;
  struct retry_state *s = call_state(c, STEP_RETRY);
  struct retry_rule rule = rule_of(c);
  if (rule.max_attempts <= 1 || !call_may_ask(c)) return false;
  // A call is not repeated if its client has answered a question, or if it has become a task.
  if (!c->request || call_is_bound(c) || park_was(c) || task_kind(c) != TASK_NONE || call_continues(c)) return false;
  struct fault shown = *f;
  shown.code = fault_public_code(f->code);
  struct retry_case failed = {
      .fault = &shown,
      .attempts = s->retries + 1,
      .sent = c->sent && !f->undone && f->code != FAULT_UPSTREAM_SESSION_LOST,
      .after_ms = not_before(c, f),
      .left_ms = time_left(c),
  };
  judge_repeat(c, &failed);
  uint64_t wait;
  // No further attempt if the gateway is shutting down.
  if (f->code == FAULT_SHUTTING_DOWN || !retry_delay(&rule, &failed, x->loop->rand, &wait)) return false;
  s->retries++;
  call_claim_retried(c, failed.sent);
  c->sent = false;
  log_info(x->loop->log, "session %.8s: attempt %u of %s failed: %s; next attempt in %llu ms", c->session->id,
           s->retries, c->method->name, f->message, (unsigned long long)wait);
  call_leave_lane(c);
  ASSERT(!s->call || !timer_running(&s->timer));
  s->call = c;
  timer_init(&s->timer, on_waited);
  timer_start(x->loop, &s->timer, wait);
  return true;
}

const struct call_step step_retry = {
    .name = "retry",
    .does = "Repeats a failed call after a delay, if `retry` allows it.",
    .state = sizeof(struct retry_state),
    .cancel = cancel,
};
