// SPDX-License-Identifier: Apache-2.0
// Functions of calls for surfaces (the code that answers clients): start calls, enforce limits on requests, report
// refused requests, mask texts of servers.
#pragma once
#include "call/context.h"

// The member of a request's params that names the target.
enum call_target {
  CALL_BY_NAME,  // params.name: a tool or a prompt
  CALL_BY_URI,   // params.uri: a resource
  CALL_BY_REF,   // params.ref: a prompt or a resource (completion)
  CALL_BY_TASK,  // params.taskId: a task; the call goes to the server that created the task
  CALL_BY_ONLY,  // no member; the call goes to the only upstream that the caller may see
};

enum call_era { CALL_ANY_ERA, CALL_WITH_SESSION, CALL_STATELESS };

// The form of the answer that the client gets.
enum call_form {
  CALL_DIRECT,  // as the protocol defines it: results unchanged, failures as JSON-RPC errors
  CALL_META,    // as from a meta-tool: results as envelopes, failures as faults
  CALL_RULED,   // results unchanged unless they are bounded; failures as results that name the rule
};

struct call_method {
  const char *name;
  enum call_target target;
  enum item_kind kind;  // for CALL_BY_NAME
  enum call_era era;    // clients that may use the method
  bool local;           // the surface carries out the method, after the lane is ready
  enum call_form form;  // default CALL_DIRECT
};

struct call_outcome {
  bool ok;           // the server has returned a result
  bool tool_failed;  // the tool reported an error; `result` says which
  str result;        // raw JSON, in the request's memory
  enum fault_code code;
  str message;
  enum approval_mode mode;  // effective mode; APPROVAL_NONE if the call is not governed
};

// Receives the outcome of a call in place of the client. `done` gets the request, which it must answer or use for
// another call. If the call ends in another way, for example because it is cancelled, `dropped` is called instead.
// Exactly one of the two is called, once. A call with a receiver is never parked.
struct call_receiver {
  void (*done)(struct call_receiver *c, struct request *r, const struct call_outcome *o);
  void (*dropped)(struct call_receiver *c);
};

struct caller_options {
  struct call_receiver *receiver;  // NULL: the client gets the outcome
  bool dry_run;                    // run every check, send nothing
  uint64_t timeout_ms;             // 0: the configured timeout
  size_t max_tokens;               // budget of the result, up to results.max_budget; 0: the configured budget
  str agent;                       // the agent that the request names, or STR_NONE
  // Options for governed tools. The texts are in the request's memory.
  str mode;                      // requested approval mode, or STR_NONE
  str safety_mode;               // highest approval mode that the request allows, or STR_NONE
  str run_id;                    // the run that the request names, or STR_NONE
  struct run_budget run_budget;  // budget of the run that the request names; all zero if run_id is STR_NONE
  // The request for approval (effect/approval.h) whose call this is, or STR_NONE. Set only by calls_start_approved.
  str approval;
};

// A tool: the configured name of its server, and the tool's name on that server.
struct call_place {
  str server, tool;
};

// Starts a call. The call answers the request. `about` is the target as the client named it; used for the form
// CALL_META.
void call_start(struct call_context *x, struct request *r, const struct call_method *method, str about);

// Starts a call of an item in the current catalog. Only the item's server is used, even if other servers have the same
// name or URI. `name` is the item's name on its server.
void call_start_at(struct call_context *x, struct request *r, const struct call_method *method, str about,
                   const struct item *item, str name, const struct caller_options *options);

// Starts a call of a tool that the caller names together with its server. A caller who may not use the tool gets the
// same answer whether or not the tool exists. `about` may be STR_NONE.
void call_start_for(struct call_context *x, struct request *r, const struct call_method *method, str about,
                    const struct call_place *place, const struct caller_options *options);

// Starts the call of a request for approval, with the arguments that were approved. `agent` is the agent that the
// request names, or STR_NONE. The call checks everything again, and runs only if the request is approved and was not
// executed before; if it was, the call returns the stored result.
struct approval;
void calls_start_approved(struct call_context *x, struct request *r, const struct call_method *method, str agent,
                          const struct approval *approved);

// Must be called when an upstream has listed its items, or has failed to start. Waiting calls then search for their
// target again.
void calls_settled(struct call_context *x);

// Must be called before a session ends. Ends the session's calls, tasks and questions.
void calls_forget(struct call_context *x, struct session *s);

// Must be called when a session has ended. Withdraws the requests for approval of a client that has ended its session,
// unless the governance file keeps them.
void calls_withdraw(struct call_context *x, const struct session *s);

// ---- limits

// Changes the limits of all principals. Requests that were counted before still count.
void calls_limit_principals(struct call_context *x, const struct allowance_limits *limits);

// Counts a use of a meta-tool by this session. Returns false if a rate limit is reached; `f` and *details (raw JSON)
// then describe the limit.
bool calls_allow(struct call_context *x, const struct session *s, str meta, struct fault *f, struct buf *details);

// calls_enter counts a request against its principal's limits. It returns false if a limit is reached; `f` and *details
// (raw JSON) then describe the limit. If it returns true, calls_leave must be called when the request ends. answer.p is
// NULL if the request gets no answer.
bool calls_enter(struct call_context *x, struct request *r, struct fault *f, struct buf *details);
void calls_leave(struct call_context *x, struct request *r, str answer);

// ---- reports

// A call that the surface refuses before call_start. calls_refused adds it to the metrics and traces.
struct call_refused {
  str server, tool, agent;  // STR_NONE: unknown
  enum fault_code code;
};
void calls_refused(struct call_context *x, struct request *r, const struct call_refused *c);
// Counts a refusal in the metrics if `code` means that the caller is unknown.
void calls_count_unknown(struct call_context *x, enum fault_code code);

// Returns the key that identifies the owner of a result's artifacts: the principal and the agent. `agent` is the agent
// that the request names, or STR_NONE. The key is in the arena or belongs to the session.
str call_owner(struct arena *a, const struct session *s, str agent);

// Applies the flow guard (call/flow_guard.h) to a view of an artifact (a stored result). The view adds marks to the
// viewer's run: the marks of the tool that made the artifact or, with tool STR_NONE, of its server. Returns false if
// the guard refuses the view. `f` is then FLOW_DENIED, and the details are raw JSON in the request's memory, or
// STR_NONE.
bool calls_may_view(struct call_context *x, struct request *r, const struct caller *caller, str server, str tool,
                    struct fault *f, str *details);

// Returns an error text of the server `by` in a form that callers may read: on one line, without secrets and addresses
// (mask_errors.c).
str call_said(struct arena *a, const struct upstream_spec *by, str text);

// Removes hidden characters from `m`, a notification or request of a server, and masks secrets in it. If `m` reports an
// error, secrets and addresses are always masked; otherwise secrets are masked if result.scrub is set. Returns `m` or a
// copy in the arena. Returns NULL if `m` cannot be masked; `m` must then not be passed on.
const struct rpc_message *calls_scrub(const struct call_context *x, const struct lane *lane,
                                      const struct rpc_message *m, struct arena *a);
