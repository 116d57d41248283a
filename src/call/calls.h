// SPDX-License-Identifier: Apache-2.0
// Calls, for surfaces: starts a governed execution for a request, and checks requests that are not calls.
#pragma once
#include "call/context.h"

// How a method names its target.
enum call_target {
  CALL_BY_NAME,  // params.name: a tool or a prompt
  CALL_BY_URI,   // params.uri: a resource
  CALL_BY_REF,   // params.ref: a prompt or a resource (completion)
  CALL_BY_TASK,  // params.taskId: the server that made the task
  CALL_BY_ONLY,  // not at all: the only upstream
};

enum call_era { CALL_ANY_ERA, CALL_WITH_SESSION, CALL_STATELESS };

// The form of the answer.
enum call_form {
  CALL_DIRECT,  // the protocol's: results unchanged, failures as JSON-RPC errors
  CALL_META,    // a meta-tool's: an envelope, or a fault
  CALL_RULED,   // results unchanged unless they are bounded; failures as results that name the rule
};

struct call_method {
  const char *name;
  enum call_target target;
  enum item_kind kind;  // CALL_BY_NAME
  enum call_era era;    // of the clients that have it
  bool local;           // the surface carries it out when the lane is ready
  enum call_form form;  // default CALL_DIRECT
};

struct caller_options {
  bool dry_run;         // run every check, send nothing
  uint64_t timeout_ms;  // 0: the configured timeout
  size_t max_tokens;    // of the result, at most results.max_budget; 0: the configured budget
  str agent;            // the agent that the request names, or STR_NONE
};

// A tool by the name of its server in the configuration, and its own name there.
struct call_place {
  str server, tool;
};

// Starts a call; takes the request.
void call_start(struct call_context *x, struct request *r, const struct call_method *method, str about);

// Starts a call of an item of the current catalog. It goes to that item's server only, even if other servers have the
// name or the URI of the request. name: the item's name on its server.
void call_start_at(struct call_context *x, struct request *r, const struct call_method *method, str about,
                   const struct item *item, str name, const struct caller_options *options);

// Starts a call of a tool that the caller names by its server. Only callers who may use the tool learn whether it
// exists.
void call_start_for(struct call_context *x, struct request *r, const struct call_method *method,
                    const struct call_place *place, const struct caller_options *options);

// An upstream has listed its items, or failed: calls that wait for that look again.
void calls_settled(struct call_context *x);

// The session is about to end: its calls, tasks and questions end.
void calls_forget(struct call_context *x, struct session *s);

// ---- limits

// Sets the limits of each principal. Earlier use still counts.
void calls_limit_principals(struct call_context *x, const struct allowance_limits *limits);

// Counts a use of a meta-tool by this session. Returns false if a limit is reached; f and *details (raw) describe it.
bool calls_allow(struct call_context *x, const struct session *s, str meta, struct fault *f, struct buf *details);

// Counts a request against its principal's allowance. Returns false if the allowance is used up; f and *details (raw)
// describe it. calls_leave ends a request that calls_enter admitted; answer.p NULL: it has no answer.
bool calls_enter(struct call_context *x, struct request *r, struct fault *f, struct buf *details);
void calls_leave(struct call_context *x, struct request *r, str answer);

// ---- reports

// Counts and traces a request for a call that the surface refuses itself.
struct call_refused {
  str server, tool, agent;  // STR_NONE: unknown
  enum fault_code code;
};
void calls_refused(struct call_context *x, struct request *r, const struct call_refused *c);
// Counts a refusal with this code if it means that the caller is unknown.
void calls_count_unknown(struct call_context *x, enum fault_code code);

// The owner key of artifacts: the credential and the agent. agent: the one that the request names, or STR_NONE. The
// key is in the arena, or the session's.
str call_owner(struct arena *a, const struct session *s, str agent);

// A text of a server on one line, without secrets and addresses, for its callers (spec_public_text).
str call_said(struct arena *a, const struct upstream_spec *by, str text);

// Masks a notification or a request of a server and removes its hidden characters. With result.scrub it loses secrets;
// one that reports an error always loses secrets and addresses. Returns m or a copy in the arena; NULL if it cannot be
// masked and must not be passed on.
const struct rpc_message *calls_scrub(const struct call_context *x, const struct lane *lane,
                                      const struct rpc_message *m, struct arena *a);
