// SPDX-License-Identifier: Apache-2.0
// The state that all calls of a gateway share. The surface (the code that answers clients) owns this state, and
// implements struct call_surface.
#pragma once
#include "call/bridge/ticket.h"
#include "call/caller.h"
#include "call/controls/controls.h"
#include "catalog/naming/naming.h"
#include "context/recorder.h"
#include "observe/trace.h"
#include "result/artifacts.h"
#include "schema/schema.h"
#include "upstream/upstream.h"

struct call;
struct call_journal;
struct idempotency;

// The result of a step: the next step runs (CALL_NEXT), a callback will continue the call (CALL_WAIT), or the call has
// ended or was restarted (CALL_DONE).
enum call_result { CALL_NEXT, CALL_WAIT, CALL_DONE };

enum { CALL_MAX_STEPS = 48 };

// Settings for results.
struct call_results {
  size_t budget;                      // default budget in tokens
  size_t max_budget;                  // largest budget that a caller may set, in tokens
  enum client_structured structured;  // when results carry structuredContent
  bool bounded;                       // the budget applies to CALL_RULED too
  bool scrub;                         // mask text that looks like a secret, also in stored pieces
  bool keep_hidden;                   // keep hidden characters in the texts of servers
};

// Callbacks that the surface provides for calls.
struct call_surface {
  // Returns the loop time until which a request of this session may wait for upstreams that are starting.
  uint64_t (*wait_until)(void *ctx, const struct session *s);
  // Handles a call whose method has `local` set (struct call_method), after the call has got its lane (connection to
  // the server). Returns the same values as a step.
  enum call_result (*local)(void *ctx, struct call *c);
  // Called when a call of a `local` method has ended or was cancelled.
  void (*local_over)(void *ctx, struct call *c);
  // Called when a call of the form CALL_META has succeeded. `about` is the target as the client named it.
  void (*used)(void *ctx, const struct session *s, str about);
  // Returns the items of a catalog that a caller may see, under the names that the caller uses. The result is valid
  // until `names` is called again.
  struct naming (*names)(void *ctx, const struct caller *c, const struct catalog *catalog);
  // id_of returns the id of a tool of the current catalog, and safe_of its client-safe name, or STR_NONE.
  str (*id_of)(void *ctx, const struct item *tool);
  str (*safe_of)(void *ctx, const struct item *tool);
};

struct call_context {
  struct upstreams *upstreams;
  struct loop *loop;
  const struct call_surface *surface;
  void *ctx;                     // for the functions of `surface`
  const struct rulebook *rules;  // the rules in force
  struct call_results results;
  struct buf params, text;  // buffers in which params and other messages are composed
  struct arena scratch;     // reset after each use
  // memory of calls
  struct list free_calls;  // for reuse
  size_t free_count;
  size_t call_size;                   // bytes of a call with the states of all steps
  uint32_t state_at[CALL_MAX_STEPS];  // offset of each step's state
  // ids of the steps with `cancel`, and ids of the steps with `done`
  uint8_t cancelling[CALL_MAX_STEPS], done[CALL_MAX_STEPS];
  size_t cancelling_count, done_count;
  // calls that wait
  struct list unsettled;  // calls in step_find that wait for an upstream to start
  struct list unlisted;   // calls in step_pins that wait until a connection has listed its tools
  struct {
    struct list open;     // unanswered questions of servers
    struct deferred due;  // sends open questions to stateless clients
    uint64_t next;
  } asks;
  struct {
    struct map waiting;  // parked calls that wait for their client's answers, by number
    struct list all;     // calls in `waiting`, and calls that a request has continued
    uint64_t next;
  } parked;
  struct tickets tickets;
  struct tasks *tasks;
  // the controls of calls; a pointer is NULL if the control is not configured
  struct controls controls;
  struct checkers *checkers;         // compiled input schemas
  struct checkers *output_checkers;  // compiled output schemas
  struct limiter *limiter;
  struct allowances *allowances;
  struct result_cache *cache;
  struct run_budgets *run_budgets;
  struct store *store;            // stores the pieces that are cut from results
  struct call_journal *governed;  // records governed calls
  struct rand_pool governed_ids;  // for the ids of decisions and governed calls
  uint64_t versions_reported;     // 1 + generation of the catalog for which an incompatible version was logged
  struct flows *flows;            // marks of the flow guard
  struct breakers *breakers;      // NULL until a governed call needs them; so is `egress`
  struct egress *egress;
  struct idempotency *idempotency;  // claims of keys; NULL: calls that need a key are refused
  // reports; NULL: not configured
  struct recorder *recorder;
  struct metrics *metrics;
  struct tracer *tracer;      // spans
  struct tracer *records;     // log records
  const struct chain *chain;  // loop detection
};

struct call_options {
  struct loop *loop;
  size_t max_message;
  uint64_t input_ms;             // maximum time that a call waits for its client's answers
  const struct rulebook *rules;  // NULL: no rules
  struct call_results results;
  struct schema_options schemas;          // limits for input schemas
  const struct controls *controls;        // copied; the data they point to must outlive the calls. NULL: none
  struct recorder *recorder;              // NULL: calls are not recorded
  struct audit_recorder *audit_recorder;  // NULL: no audit log
  struct metrics *metrics;                // NULL: no metrics
  struct tracer *tracer;                  // NULL: no spans
  struct tracer *records;                 // NULL: no log records
  const struct chain *chain;              // NULL: no loop detection
  struct journal *journal;                // NULL: governed calls are not recorded
  struct idempotency *idempotency;        // NULL: calls that need a key are refused
};

void call_context_init(struct call_context *x, struct upstreams *u, const struct call_options *opt);
void call_context_done(struct call_context *x);  // must be called only after all calls have ended
