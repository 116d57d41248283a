// SPDX-License-Identifier: Apache-2.0
// Counts a governed call against the budget of its run, and limits the time of the call. A run is identified by the
// tenant and the run_id of the caller's token, so all callers with this run_id share its budget. Without a run_id, the
// run is the session or, for a stateless client, all calls of the agent. A request cannot choose another run, only set
// a smaller budget for a part of its run.
#include "base/assert.h"
#include "call/steps/steps.h"
#include "json/write.h"

#define SESSION_RUN "session %s"

enum { NAME_MAX_BYTES = 512 };

// The names contain the lengths of their parts, so that different runs never have the same name.
static str run_of(const struct session *s, const struct run_context *run, struct arena *a) {
  str tenant = run->governed.subject.tenant, principal = session_principal(s);
  if (run->id.p) return arena_printf(a, "token %zu %.*s %.*s", tenant.n, STR_ARG(tenant), STR_ARG(run->id));
  if (!s->revision->stateless) return arena_printf(a, SESSION_RUN, s->id);
  return arena_printf(a, "agent %zu %.*s %.*s", principal.n, STR_ARG(principal), STR_ARG(caller_run_agent(s, run)));
}

// Returns the name of a part of the run. Different principals have different parts.
static str part_of(const struct session *s, str run, str part, struct arena *a) {
  str principal = session_principal(s);
  return arena_printf(a, "part %zu %.*s %zu %.*s %.*s", principal.n, STR_ARG(principal), part.n, STR_ARG(part),
                      STR_ARG(run));
}

void budget_forget(struct call_context *x, const struct session *s) {
  char run[NAME_MAX_BYTES];
  if (s->revision->stateless) return;
  int n = snprintf(run, sizeof run, SESSION_RUN, s->id);
  run_budgets_forget(x->run_budgets, (str){run, (size_t)n});
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
// limit that is reached, and lowers *ms to the time left. `spent` is the time that the call has taken before, if this
// request continues it.
static const char *take(struct call *c, str part, const struct run_budget *limits, uint64_t spent, uint64_t *ms) {
  struct arena *a = &c->request->arena;
  uint64_t left;
  if (!has_limit(limits)) return NULL;
  str run = run_of(c->session, c->run, a);
  struct run_call call = {
      .principal = session_principal(c->session),
      .run = part.p ? part_of(c->session, run, part, a) : run,
      .cost = call_capability(c)->cost,
      .now = loop_now(c->context->loop),
      .continued = call_ticket(c),
  };
  const char *limit = run_budgets_take(c->context->run_budgets, &call, limits, &left);
  if (limit) return limit;
  if (limits->max_call_ms && limits->max_call_ms <= spent) left = 1;
  else if (limits->max_call_ms && limits->max_call_ms - spent < left) left = limits->max_call_ms - spent;
  if (left < *ms) *ms = left;
  return NULL;
}

// The time that the adapter sets can only shorten the time that the run allows.
static enum call_result run(struct call *c, void *state) {
  const struct governance_capability *capability = call_capability(c);
  if (!capability) return CALL_NEXT;
  uint64_t spent = call_ticket(c) ? call_ticket(c)->spent_ms : 0;
  uint64_t ms = capability->timeout_ms ? capability->timeout_ms : capability->adapter->timeout_ms;
  ms = !ms ? UINT64_MAX : ms > spent ? ms - spent : 1;
  const char *limit = c->options.run_id.p ? take(c, c->options.run_id, &c->options.run_budget, spent, &ms) : NULL;
  if (!limit) limit = take(c, STR_NONE, &c->run->budget, spent, &ms);
  if (limit) return refuse(c, limit);
  if (ms < upstreams_timeout_max(c->context->upstreams)) call_deadline_limit(c, ms);
  return CALL_NEXT;
}

const struct call_step step_budget = {
    .name = "budget",
    .does = "Counts a governed call against the budget of its run.",
    .run = run,
};
