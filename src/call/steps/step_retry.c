// SPDX-License-Identifier: Apache-2.0
// A call that its server could not be asked, or did not answer, is made again after a while, where the operator wants
// that. What the server answers is an answer, whatever it says.
#include "call/steps/step_retry.h"
#include "call/about.h"
#include "call/bridge/task_bridge.h"
#include "call/steps/step_connect.h"
#include "call/steps/step_dispatch.h"
#include "call/steps/step_resume.h"
#include "result/envelope/fault_forms.h"

struct retry_state {
  struct call *call;  // NULL: it never waited
  struct timer timer;
};

static void cancel(struct call *c, void *state) {
  struct retry_state *s = state;
  if (s->call) timer_stop(&s->timer);
}

static void on_waited(struct timer *t) {
  call_restart(CONTAINER_OF(t, struct retry_state, timer)->call, &step_connect);
}

// What was asked and answered on the way, and what has become a task, is not done again by itself.
static bool is_bound(const struct call *c) {
  return !c->request || call_is_bound(c) || c->parking || task_kind(c) != TASK_NONE || call_continues(c);
}

static uint64_t time_left(const struct call *c) {
  struct call_context *x = c->context;
  uint64_t now = loop_now(x->loop), end = c->began + upstreams_timeout_max(x->upstreams);
  uint64_t options = timer_running(&c->deadline) ? c->deadline.at : UINT64_MAX;
  if (options < end) end = options;
  return now < end ? end - now : 0;
}

uint64_t call_time_max(const struct call *c) {
  uint64_t most = upstreams_timeout_max(c->context->upstreams), left;
  if (!c->attempts) return most;
  left = time_left(c);
  return left ? left : 1;
}

// A connection that was just lost is opened again after a while of its own.
static uint64_t not_before(const struct call *c, const struct fault *f) {
  struct call_context *x = c->context;
  struct lane_user who = call_user(c);
  const struct lane *lane = upstreams_lane_find_for(x->upstreams, c->routes[c->route].source, &who);
  uint64_t now = loop_now(x->loop), wait = f->after_ms;
  if (lane && lane->state == LANE_DOWN && lane->retry_at > now + wait) wait = lane->retry_at - now;
  return wait;
}

bool call_retry(struct call *c, const struct fault *f) {
  struct call_context *x = c->context;
  if (x->controls.retry.max_attempts <= 1 || !call_may_ask(c) || is_bound(c)) return false;
  struct fault told = *f;
  told.code = fault_told_as(f->code);
  const struct item_hints *hints = c->item && call_is_tool(c) ? &c->item->hints : NULL;
  struct backoff_case failed = {
      .fault = &told,
      .attempts = c->attempts + 1,
      .sent = c->sent && !f->undone && f->code != FAULT_UPSTREAM_SESSION_LOST,
      .repeatable = !call_is_tool(c) || (hints && (hints->read_only || hints->idempotent)),
      .destructive = hints && hints->destructive,
      .after_ms = not_before(c, f),
      .left_ms = time_left(c),
  };
  uint64_t wait;
  // We are going, not the server.
  if (f->code == FAULT_SHUTTING_DOWN || !backoff_next(&x->controls.retry, &failed, x->loop->rand, &wait)) return false;
  c->attempts++;
  c->sent = false;
  log_info(x->loop->log, "session %.8s: attempt %u of %s failed: %s; again in %llu ms", c->session->id, c->attempts,
           c->method->name, f->message, (unsigned long long)wait);
  list_remove(&c->node);
  struct retry_state *s = call_state(c, &step_retry);
  s->call = c;
  timer_init(&s->timer, on_waited);
  timer_start(x->loop, &s->timer, wait);
  return true;
}

const struct call_step step_retry = {
    .name = "retry",
    .does = "A call that failed is made again after a while, if `retry` allows it.",
    .state = sizeof(struct retry_state),
    .cancel = cancel,
};
