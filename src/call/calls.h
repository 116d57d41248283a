// SPDX-License-Identifier: Apache-2.0
// Functions for surfaces: start calls, enforce limits on requests, report refused requests, mask texts of servers.
#pragma once
#include "call/context.h"

// How a method names its target.
enum call_target {
  CALL_BY_NAME,  // params.name: a tool or a prompt
  CALL_BY_URI,   // params.uri: a resource
  CALL_BY_REF,   // params.ref: a prompt or a resource (completion)
  CALL_BY_TASK,  // params.taskId: the server that made the task
  CALL_BY_ONLY,  // no target; the call goes to the only upstream
};

enum call_era { CALL_ANY_ERA, CALL_WITH_SESSION, CALL_STATELESS };

// The form of the answer.
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

struct caller_options {
  bool dry_run;         // run every check, send nothing
  uint64_t timeout_ms;  // 0: the configured timeout
  size_t max_tokens;    // budget of the result, up to results.max_budget; 0: the configured budget
  str agent;            // the agent that the request names, or STR_NONE
  // For governed tools; the texts are in the request's memory.
  str mode;         // requested approval mode, or STR_NONE
  str safety_mode;  // ceiling of the request, or STR_NONE
};

// A tool: the configured name of its server, and the tool's name on that server.
struct call_place {
  str server, tool;
};

// Starts a call, which will answer the request.
void call_start(struct call_context *x, struct request *r, const struct call_method *method, str about);

// Starts a call of an item in the current catalog. Only the item's server is used, even if other servers have the same
// name or URI. `name` is the item's name on its server.
void call_start_at(struct call_context *x, struct request *r, const struct call_method *method, str about,
                   const struct item *item, str name, const struct caller_options *options);

// Starts a call of a tool that the caller names together with its server. Only callers who may use the tool learn
// whether it exists.
void call_start_for(struct call_context *x, struct request *r, const struct call_method *method,
                    const struct call_place *place, const struct caller_options *options);

// Must be called when an upstream has listed its items or failed: waiting calls then search for their target again.
void calls_settled(struct call_context *x);

// Must be called before a session ends. Ends its calls, tasks and questions.
void calls_forget(struct call_context *x, struct session *s);

// ---- limits

// Sets the limits of each principal. Use before the change still counts.
void calls_limit_principals(struct call_context *x, const struct allowance_limits *limits);

// Counts a use of a meta-tool by this session. Returns false if a limit is reached; f and *details (raw JSON) describe
// it.
bool calls_allow(struct call_context *x, const struct session *s, str meta, struct fault *f, struct buf *details);

// Counts a request against its principal's allowance. Returns false if the allowance is used up; f and *details (raw
// JSON) describe the limit. calls_leave must be called when an admitted request ends; answer.p is NULL if the request
// gets no answer.
bool calls_enter(struct call_context *x, struct request *r, struct fault *f, struct buf *details);
void calls_leave(struct call_context *x, struct request *r, str answer);

// ---- reports

// Counts and traces a request for a call that the surface itself refuses.
struct call_refused {
  str server, tool, agent;  // STR_NONE: unknown
  enum fault_code code;
};
void calls_refused(struct call_context *x, struct request *r, const struct call_refused *c);
// Counts a refusal, if its code means that the caller is unknown.
void calls_count_unknown(struct call_context *x, enum fault_code code);

// Returns the owner key of artifacts: the credential and the agent. `agent` is the agent that the request names, or
// STR_NONE. The key is in the arena or belongs to the session.
str call_owner(struct arena *a, const struct session *s, str agent);

// Returns a server's text in a form for callers: on one line, without secrets and addresses (mask_errors.c).
str call_said(struct arena *a, const struct upstream_spec *by, str text);

// Removes hidden characters from a server's notification or request `m`, and masks it: with result.scrub its secrets,
// and if it reports an error always its secrets and addresses. Returns m or a copy in the arena, or NULL if m cannot be
// masked and must not be passed on.
const struct rpc_message *calls_scrub(const struct call_context *x, const struct lane *lane,
                                      const struct rpc_message *m, struct arena *a);
