// SPDX-License-Identifier: Apache-2.0
// The table of the steps of a call, and the functions that run steps. call/call.h describes what a step may do.
#pragma once
#include "call/call.h"

// The steps, in the order in which they run. Steps marked "-" have no `run`; other steps use their states, for example
// to wait.
#define CALL_STEPS(ROW) \
  ROW(STEP_RESUME, step_resume)               /* a retry with answers continues the call that asked */ \
  ROW(STEP_CHAIN, step_chain)                 /* refuses a call that has passed this gateway before */ \
  ROW(STEP_IDENTIFY, step_identify)           /* finds the caller */ \
  ROW(STEP_OPTIONS, step_options)             /* reads the caller's options: dry run, deadline */ \
  ROW(STEP_FIND, step_find)                   /* finds the upstream, and the name there */ \
  ROW(STEP_POLICY, step_policy)               /* applies the rules */ \
  ROW(STEP_PARAM_HEADERS, step_param_headers) /* compares HTTP headers with the arguments */ \
  ROW(STEP_REPAIR, step_repair)               /* parses arguments that were written as text */ \
  ROW(STEP_SCHEMA, step_schema)               /* validates the arguments */ \
  ROW(STEP_GOVERN, step_govern)               /* applies the governance file */ \
  ROW(STEP_SCHEMA_PINS, step_schema_pins)     /* compares schemas with the governance file */ \
  ROW(STEP_QUOTA, step_quota)                 /* applies rate limits */ \
  ROW(STEP_FLOW, step_flow)                   /* applies the flow guard */ \
  ROW(STEP_DRY_RUN, step_dry_run)             /* ends a dry run */ \
  ROW(STEP_CACHE_LOOKUP, step_cache_lookup)   /* answers from the cache */ \
  ROW(STEP_BUDGET, step_budget)               /* counts the call against the budget of its run */ \
  ROW(STEP_CONNECT, step_connect)             /* gets the caller's lane */ \
  ROW(STEP_VERSION_PINS, step_version_pins)   /* compares versions with the governance file */ \
  ROW(STEP_TURN, step_turn)                   /* waits for a turn on that lane */ \
  ROW(STEP_ROOTS, step_roots)                 /* lets a server ask for the client's roots first */ \
  ROW(STEP_SIGN, step_sign)                   /* signs the decision for the server */ \
  ROW(STEP_DISPATCH, step_dispatch)           /* sends the request, and waits for the reply */ \
  ROW(STEP_RETRY, step_retry)                 /* - waits before another attempt */ \
  ROW(STEP_ASKS, step_asks)                   /* - a server with a session asks during the call */ \
  ROW(STEP_PARK, step_park)                   /* - a stateless client answers such questions */ \
  ROW(STEP_ROUNDS, step_rounds)               /* - a stateless server replies with questions */ \
  ROW(STEP_TASK, step_task)                   /* - the call runs as a task of the server */ \
  ROW(STEP_CLASSIFY, step_classify)           /* gives an error of the upstream its fault code */ \
  ROW(STEP_OUTPUT, step_output)               /* validates the result */ \
  ROW(STEP_CACHE_STORE, step_cache_store)     /* stores the result in the cache */ \
  ROW(STEP_FIREWALL, step_firewall)           /* cuts the result to its budget */ \
  ROW(STEP_PROVENANCE, step_provenance)       /* adds how the result came about */ \
  ROW(STEP_STORE, step_store)                 /* waits until stored pieces are durable */ \
  ROW(STEP_ANSWER, step_answer)               /* answers the request */ \
  ROW(STEP_TRACE, step_trace)                 /* - the span of the call */

#define CALL_STEP_ID(id, step) id,
enum call_step_id { CALL_STEPS(CALL_STEP_ID) STEP_COUNT };
#undef CALL_STEP_ID

// A step. The step's state is in the call's memory, is zero when the call begins, and is used only by the step's own
// file. If a step may wait, its state contains a pointer to the call. The pointer is NULL until the call waits in the
// step for the first time; `cancel` then has nothing to do.
struct call_step {
  const char *name;  // the step's name in traces, in dry runs and in the documentation
  const char *does;
  size_t state;   // bytes of the state
  bool governed;  // has nothing to do if there is no governance file, and is then skipped
  enum call_result (*run)(struct call *c, void *state);
  // Ends the call's waiting in this step: stops timers, and removes the call from lists. May run several times. Steps
  // are cancelled in reverse order. `reason` is the reason why the client no longer waits, which is sent to the server,
  // or STR_NONE if the call has been answered.
  void (*cancel)(struct call *c, void *state, str reason);
  // Called when the call is parked, before its request ends. Copies texts that are in the request's memory to `a`. `a`
  // is NULL if the texts were copied when the call was parked before.
  void (*detach)(struct call *c, void *state, struct arena *a);
  void (*done)(struct call *c, void *state);  // frees the memory that the state owns
};

#define CALL_STEP_DECLARED(id, step) extern const struct call_step step;
CALL_STEPS(CALL_STEP_DECLARED)
#undef CALL_STEP_DECLARED

static inline void *call_state(const struct call *c, enum call_step_id step) {
  return (char *)c->state + c->context->state_at[step];
}

// Returns a copy of `text`, allocated in `a`, or STR_NONE if `text` is STR_NONE.
static inline str call_kept(struct arena *a, str text) {
  return text.p ? arena_str(a, text) : text;
}

// ---- for steps, and for the surface that carries out a local method

void call_resume(struct call *c);                           // continues after the step that waits
void call_restart(struct call *c, enum call_step_id from);  // continues the call with an earlier or a later step
const char *call_step_name(const struct call *c);           // name of the current step
void call_stop(struct call *c, str reason);                 // ends the waiting in all steps
void call_detach(struct call *c, struct arena *a);     // calls `detach` of all steps, and copies the call's own strings
void call_drop(struct call *c, str reason);            // stops and frees the call, whose request gets no answer
void call_discard(struct call *c);                     // frees the call, but not its request
struct request *call_release_request(struct call *c);  // reports and frees the call; then answer the returned request
enum { CALL_REUSED = 256 };                            // number of freed calls that are kept for reuse

// ---- for the context

void calls_lay_out(struct call_context *x);  // sets call_size and state_at
void calls_free_unused(struct call_context *x);
void calls_print_steps(struct buf *out);  // writes the rows of the table in docs/reference/calls.md
