// SPDX-License-Identifier: Apache-2.0
// The flow guard: refuses a call or view that would give a run all three marks of govern/flow.h.
//
// A run is identified by the run_id of the caller's token. Without it, the run is the session or, for a stateless
// client and with `scope: agent`, everything that the agent does. A request can name a further run (toolgate/run),
// whose marks count in addition. Runs of different principals are different, except that a run_id of a token identifies
// one run for the whole tenant. A run gets its marks before anything is sent, so of two calls that complete the marks
// together, only the first one passes.
#pragma once
#include "call/context.h"

// FLOW_RUNS: maximum number of runs of a request. FLOW_SHOWN: maximum number of earlier calls that a refusal names.
enum { FLOW_RUNS = 2, FLOW_SHOWN = 6 };

// A call or view to decide about. The strings must live as long as the request.
struct flow_step {
  const struct session *session;
  const struct caller *caller;  // with a governance
  str named_run;                // the run that the request names, or STR_NONE
  str server, tool;             // tool.p is NULL for an item that is not a tool
  str call;                     // id of the decision, or STR_NONE
  unsigned only;                // the marks that count; FLOW_ALL for a call
  bool removed;                 // the server is no longer configured, so the step has all marks that count
  bool dry_run;                 // nothing is recorded
  struct arena *arena;
};

struct flow_verdict {
  bool refused;
  struct fault fault;                    // if refused
  str rule;                              // dotted path of the mark that decided
  str details;                           // raw JSON object
  struct flow_run *unstored[FLOW_RUNS];  // runs that must be stored before anything is sent
  size_t unstored_count;
};

// Decides a step and, unless it is refused or a dry run, gives the run its marks. `unstored` is valid until the next
// call of this function; the caller must store these runs (flows_store).
void flow_decide(struct call_context *x, const struct flow_step *s, struct flow_verdict *out);

// Returns the marks of the step's runs before the step, or FLOW_ALL if they are unknown. Returns 0 if the step itself
// has no marks.
unsigned flow_before(struct call_context *x, const struct flow_step *s);

void flow_forget(struct call_context *x, const struct session *s);  // must be called before a session ends
