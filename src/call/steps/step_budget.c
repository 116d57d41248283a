// SPDX-License-Identifier: Apache-2.0
// Counts a governed call against the budget of its run, and limits the time of the call. A run is identified by the
// run_id of the caller's token. Without it, the run is the session or, for a stateless client, all calls of the agent:
// a request cannot choose another run, only set a smaller budget for a part of its run.
#include "base/assert.h"
#include "call/steps/steps.h"
#include "json/write.h"

enum { NAME_MAX_BYTES = 512 };

static str run_of(const struct session *s, const struct run_context *run, struct arena *a) {
  if (run->id.p) return arena_printf(a, "token %.*s", STR_ARG(run->id));
  if (!s->revision->stateless) return arena_printf(a, "session %s", s->id);
  return arena_printf(a, "agent %.*s", STR_ARG(run->agent));
}

void budget_forget(struct call_context *x, const struct session *s) {
  char run[NAME_MAX_BYTES];
  if (!s->run || s->run->id.p || s->revision->stateless) return;
  int n = snprintf(run, sizeof run, "session %s", s->id);
  run_budgets_forget(x->run_budgets, session_principal(s), (str){run, (size_t)n});
}

static enum call_result refuse(struct call *c, const char *limit) {
  struct fault f;
  struct buf details;
  fault_set(&f, FAULT_RUN_BUDGET_EXCEEDED, "the budget of the run is used up (%s): start another run", limit);
  fault_set_path(&f, c->about);
  buf_init(&details, 256);
  struct json_writer w = json_writer(&details);
  json_begin_object(&w);
  json_member_str(&w, STR("limit"), str_of(limit));
  json_end_object(&w);
  enum call_result r = call_end(c, &f, RPC_INVALID_PARAMS, buf_view(&details));
  buf_done(&details);
  return r;
}

static bool has_limit(const struct run_budget *b) {
  return b->max_calls || b->max_wall_ms || b->max_call_ms || b->max_cost >= 0;
}

// Counts the call against the budget of the run or, if `part` is set, of this part of the run. Returns NULL, or the
// limit that is reached, and lowers *ms to the time left.
static const char *take(struct call *c, str part, const struct run_budget *limits, uint64_t *ms) {
  struct arena *a = &c->request->arena;
  uint64_t left;
  if (!has_limit(limits)) return NULL;
  str run = run_of(c->session, c->run, a);
  if (part.p) run = arena_printf(a, "%.*s part %.*s", STR_ARG(run), STR_ARG(part));
  struct run_call call = {session_principal(c->session), run, call_capability(c)->cost, loop_now(c->context->loop)};
  const char *limit = run_budgets_take(c->context->run_budgets, &call, limits, &left);
  if (limit) return limit;
  if (limits->max_call_ms && limits->max_call_ms < left) left = limits->max_call_ms;
  if (left < *ms) *ms = left;
  return NULL;
}

static enum call_result run(struct call *c, void *state) {
  if (!call_capability(c) || call_ticket(c)) return CALL_NEXT;  // a retry with answers was counted before
  const struct governance_capability *capability = call_capability(c);
  uint64_t ms = capability->timeout_ms ? capability->timeout_ms : capability->adapter->timeout_ms;
  if (!ms) ms = UINT64_MAX;
  const char *limit = c->options.run_id.p ? take(c, c->options.run_id, &c->options.run_budget, &ms) : NULL;
  if (!limit) limit = take(c, STR_NONE, &c->run->budget, &ms);
  if (limit) return refuse(c, limit);
  if (ms < upstreams_timeout_max(c->context->upstreams)) call_deadline_limit(c, ms);
  return CALL_NEXT;
}

const struct call_step step_budget = {
    .name = "budget",
    .does = "Counts a governed call against the budget of its run.",
    .governed = true,
    .run = run,
};
