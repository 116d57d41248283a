// SPDX-License-Identifier: Apache-2.0
// Applies the flow guard (call/flow_guard.h). A request about a task counts as a use of the tool that made the task,
// because the answer to the request may be the tool's result. Marks that must survive a restart are on disk before the
// call goes on.
#include "base/assert.h"
#include "call/controls/flows.h"
#include "call/flow_guard.h"
#include "call/steps/steps.h"

struct flow_state {
  struct call *call;                   // NULL: the call never waited
  struct store_wait waits[FLOW_RUNS];  // while runs are stored
  size_t waiting;
};

static enum call_result refuse(struct call *c, struct flow_verdict *v) {
  c->rule = v->rule;
  fault_set_path(&v->fault, c->about);
  return call_end(c, &v->fault, RPC_INVALID_PARAMS, v->details);
}

static struct flow_step step_of(struct call *c, str server, str tool) {
  return (struct flow_step){
      .session = c->session,
      .caller = &c->caller,
      .named_run = c->options.run_id,
      .server = server,
      .tool = tool,
      .call = call_decision_id(c),
      .only = c->method->target == CALL_BY_TASK ? FLOW_DATA : FLOW_ALL,
      .dry_run = c->options.dry_run,
      .arena = &c->request->arena,
  };
}

static void decide(struct call *c, str server, str tool, struct flow_verdict *out) {
  struct flow_step step = step_of(c, server, tool);
  flow_decide(c->context, &step, out);
}

unsigned flow_marks_before(struct call *c) {
  struct flow_step step = step_of(c, call_server(c), call_tool_name(c));
  return flow_before(c->context, &step);
}

enum call_result flow_refuse(struct call *c) {
  struct flow_verdict v;
  decide(c, call_server(c), call_tool_name(c), &v);
  ASSERT(v.refused);  // the marks are the same as when the call was found to be refused
  return refuse(c, &v);
}

static bool is_guarded(const struct call *c) {
  return c->governance && governance_flow_of(c->governance);
}

static void on_stored(struct call *c) {
  struct flow_state *s = call_state(c, STEP_FLOW);
  ASSERT(s->waiting);
  if (!--s->waiting) call_resume(c);
}

static void on_stored_first(struct store_wait *w, enum store_kept kept) {
  on_stored(CONTAINER_OF(w, struct flow_state, waits[0])->call);
}

static void on_stored_second(struct store_wait *w, enum store_kept kept) {
  on_stored(CONTAINER_OF(w, struct flow_state, waits[1])->call);
}

static uint64_t keep_ms(const struct call *c) {
  return governance_flow_of(c->governance)->keep_s * 1000;
}

static enum call_result run(struct call *c, void *state) {
  static void (*const done[FLOW_RUNS])(struct store_wait *, enum store_kept) = {on_stored_first, on_stored_second};
  struct flow_state *s = state;
  struct flow_verdict v;
  if (!is_guarded(c) || !c->route_count || str_eq(str_of(c->method->name), STR("tasks/cancel"))) return CALL_NEXT;
  decide(c, call_server(c), call_tool_name(c), &v);
  if (v.refused) return refuse(c, &v);
  if (!v.unstored_count) return CALL_NEXT;
  s->call = c;
  s->waiting = v.unstored_count;
  for (size_t i = 0; i < FLOW_RUNS; i++) store_wait_init(&s->waits[i], done[i]);
  for (size_t i = 0; i < v.unstored_count; i++)
    flows_store(c->context->store, v.unstored[i], loop_now(c->context->loop), keep_ms(c), &s->waits[i]);
  return CALL_WAIT;
}

// Applies the flow guard to a request for the result of a task that the gateway itself has stored.
enum call_result flow_of_task(struct call *c, unsigned source, str tool) {
  struct flow_verdict v;
  if (!is_guarded(c) || !tool.n) return CALL_NEXT;
  decide(c, upstreams_name(c->context->upstreams, source), tool, &v);
  if (v.refused) return refuse(c, &v);
  for (size_t i = 0; i < v.unstored_count; i++)
    flows_store(c->context->store, v.unstored[i], loop_now(c->context->loop), keep_ms(c), NULL);
  return CALL_NEXT;
}

static void cancel(struct call *c, void *state, str reason) {
  struct flow_state *s = state;
  for (size_t i = 0; s->call && i < FLOW_RUNS; i++)
    if (store_waiting(&s->waits[i])) store_wait_cancel(&s->waits[i]);
}

const struct call_step step_flow = {
    .name = "flow",
    .does = "Refuses a call that would join private data, untrusted input and a way out in one run.",
    .state = sizeof(struct flow_state),
    .governed = true,
    .run = run,
    .cancel = cancel,
};
