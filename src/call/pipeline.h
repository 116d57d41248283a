// SPDX-License-Identifier: Apache-2.0
// The steps of a call: their table, and the functions that run them. call/call.h says what a step may do.
#pragma once
#include "call/call.h"

// The table, in order. Rows marked "-" have no `run`: other steps use their states, for example to wait.
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
  ROW(STEP_QUOTA, step_quota)                 /* applies rate limits */ \
  ROW(STEP_DRY_RUN, step_dry_run)             /* ends a dry run */ \
  ROW(STEP_CACHE_LOOKUP, step_cache_lookup)   /* answers from the cache */ \
  ROW(STEP_CONNECT, step_connect)             /* gets the caller's lane */ \
  ROW(STEP_TURN, step_turn)                   /* waits for a turn on that lane */ \
  ROW(STEP_ROOTS, step_roots)                 /* lets a server ask for the client's roots first */ \
  ROW(STEP_DISPATCH, step_dispatch)           /* sends the request, and waits for the reply */ \
  ROW(STEP_RETRY, step_retry)                 /* - waits before another attempt */ \
  ROW(STEP_ASKS, step_asks)                   /* - a server with a session asks during the call */ \
  ROW(STEP_PARK, step_park)                   /* - a stateless client answers such questions */ \
  ROW(STEP_ROUNDS, step_rounds)               /* - a stateless server replies with questions */ \
  ROW(STEP_TASK, step_task)                   /* - the call runs as a task of the server */ \
  ROW(STEP_CLASSIFY, step_classify)           /* gives an error of the upstream its fault code */ \
  ROW(STEP_CACHE_STORE, step_cache_store)     /* stores the result in the cache */ \
  ROW(STEP_FIREWALL, step_firewall)           /* cuts the result to its budget */ \
  ROW(STEP_PROVENANCE, step_provenance)       /* adds how the result came about */ \
  ROW(STEP_STORE, step_store)                 /* waits until stored pieces are durable */ \
  ROW(STEP_ANSWER, step_answer)               /* answers the request */ \
  ROW(STEP_TRACE, step_trace)                 /* - the span of the call */

#define CALL_STEP_ID(id, step) id,
enum call_step_id { CALL_STEPS(CALL_STEP_ID) STEP_COUNT };
#undef CALL_STEP_ID

// A step. Its state is in the call's memory and zero when the call begins; only the step's own file uses it. The state
// of a step that may wait has a pointer to the call. While this pointer is NULL, the call has not waited in the step,
// and `cancel` has nothing to do.
struct call_step {
  const char *name;  // name in traces, in dry runs and in the documentation
  const char *does;
  size_t state;  // bytes of the state
  enum call_result (*run)(struct call *c, void *state);
  // Ends the waiting: stops timers, leaves lists. May run several times; the last step is cancelled first. `reason` is
  // why the client no longer waits, and is sent to the server; STR_NONE: the call has been answered.
  void (*cancel)(struct call *c, void *state, str reason);
  // Called before the request ends: copies texts that the state has in the request's memory to `a`. `a` is NULL if the
  // texts were copied before.
  void (*detach)(struct call *c, void *state, struct arena *a);
  void (*done)(struct call *c, void *state);  // frees what the state owns
};

#define CALL_STEP_DECLARED(id, step) extern const struct call_step step;
CALL_STEPS(CALL_STEP_DECLARED)
#undef CALL_STEP_DECLARED

static inline void *call_state(const struct call *c, enum call_step_id step) {
  return (char *)c->state + c->context->state_at[step];
}

// Returns a copy of the string in `a`. STR_NONE stays STR_NONE.
static inline str call_kept(struct arena *a, str text) {
  return text.p ? arena_str(a, text) : text;
}

// ---- for steps, and for the surface that carries out a local method

void call_resume(struct call *c);                           // continues after the step that waits
void call_restart(struct call *c, enum call_step_id from);  // continues with an earlier or later step
const char *call_step_name(const struct call *c);           // name of the current step
void call_stop(struct call *c, str reason);                 // ends the waiting in all steps
void call_detach(struct call *c, struct arena *a);     // calls `detach` of all steps, and copies the call's own strings
void call_drop(struct call *c, str reason);            // stops and frees the call, whose request gets no answer
void call_discard(struct call *c);                     // frees the call, but not its request
struct request *call_release_request(struct call *c);  // reports and frees the call; answer the request next
enum { CALL_REUSED = 256 };                            // number of freed calls that are kept for reuse

// ---- for the context

void calls_lay_out(struct call_context *x);  // sets call_size and state_at
void calls_free_unused(struct call_context *x);
void calls_print_steps(struct buf *out);  // rows of the table in docs/reference/calls.md
