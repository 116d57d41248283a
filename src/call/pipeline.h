// SPDX-License-Identifier: Apache-2.0
// The rows of the pipeline, and what their files use of it. call/call.h says what a step may do.
#pragma once
#include "call/call.h"

// A step, or what several steps wait in (run NULL: retry, rounds, asks, tasks).
//
// Its state is memory of the call, zero when the call begins, that only the step's own file reads. A state that waits
// has its call in it: `cancel` of a call that never waited has nothing to do.
struct call_step {
  const char *name;  // in traces, dry runs and the documentation
  const char *does;
  size_t state;  // bytes
  enum call_result (*run)(struct call *c, void *state);
  // The call waits no longer, or is over: stops timers, leaves lists. May be called several times.
  void (*cancel)(struct call *c, void *state);
  // The request is about to go, and its memory with it: copies what the state has of it to `a`. NULL: that was done.
  void (*detach)(struct call *c, void *state, struct arena *a);
};

// A text in the memory of `a`; STR_NONE stays as it is.
static inline str call_kept(struct arena *a, str text) {
  return text.p ? arena_str(a, text) : text;
}

void *call_state(const struct call *c, const struct call_step *step);

// In the order of the table.
extern const struct call_step step_resume, step_chain, step_identify, step_options, step_find, step_policy,
    step_param_headers, step_repair, step_schema, step_quota, step_dry_run, step_cache_lookup, step_connect, step_turn,
    step_roots, step_dispatch, step_retry, step_asks, step_rounds, step_task, step_classify, step_cache_store,
    step_firewall, step_note, step_store, step_answer, step_trace;

void calls_lay_out(struct call_context *x);            // sets call_size and state_at
void calls_print_steps(struct buf *out);               // rows of a table for the documentation
const char *call_step_name(const struct call *c);      // where it is
void call_stop(struct call *c, str reason);            // ends all waiting, and notifies the upstream
void call_detach(struct call *c, struct arena *a);     // it has nothing of its request any more; see above
void call_drop(struct call *c, str reason);            // a call without a request: tells the upstream, and forgets
void call_discard(struct call *c);                     // one that was never sent; its request stays
struct request *call_release_request(struct call *c);  // frees the call, for its request to be answered
enum call_result call_go_home(struct call *c);         // goes on after step_dispatch, with what came of it
