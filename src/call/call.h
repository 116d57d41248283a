// SPDX-License-Identifier: Apache-2.0
// A call: one governed execution, from a client's request to the upstream's answer.
//
// A call runs through the steps of the table in call/pipeline.h, in order: out to the upstream, and home with the
// outcome. Every call ends in exactly one answer to its request, or is cancelled.
//   - On the way out a step reads c->item and the params of the request. It ends the call with call_refuse or call_end.
//     A step that has the answer (a cache) sets c->reply and continues with call_restart(c, STEP_FIREWALL).
//   - The outcome is c->reply, or c->failure, or both: an error that the upstream reported. Before step_firewall both
//     are in memory that is valid until the step returns; step_firewall copies the outcome to c->answer. A step that
//     waits therefore follows step_firewall, or drops the outcome and calls call_restart(c, STEP_CONNECT).
//   - A step that waits has its timer and its list node in its own state. Its `cancel` ends the waiting.
#pragma once
#include <stddef.h>

#include "call/calls.h"

enum { CALL_MAX_ROUTES = 8 };

// Why a call failed. In the request's arena.
struct call_failure {
  struct fault fault;
  str server;     // the server that was called, or STR_NONE
  int code;       // of the JSON-RPC error
  str data;       // raw: the protocol's data of that error, or STR_NONE
  str details;    // raw object: details that the caller can act on, or STR_NONE
  bool upstream;  // code and data are the upstream's
};

// The part of a call that several steps use. The states of the steps follow it (call/pipeline.h).
struct call {
  uint32_t magic;
  struct work work;  // on `request`
  struct list node;  // in free_calls
  size_t step;
  struct call_context *context;
  // the request
  struct request *request;  // NULL while parked; may be of another session than `session` after that
  struct session *session;  // of the client
  struct session *owner;    // of the connection: the same, unless a task lives on another session's
  const struct call_method *method;
  str about;                // the target as the caller named it: CALL_META
  str named;                // the agent that the request names, or STR_NONE
  struct call_place place;  // the target by its server; server.p NULL: the caller did not name a server
  struct caller_options options;
  // the caller
  struct caller caller;   // by the rules at the start, or when a request continued the parked call
  struct policy *policy;  // those rules; NULL: none
  // the item
  struct catalog *catalog;                       // at the start
  const struct item *item;                       // the tool or the prompt; NULL: neither
  str task_tool;                                 // the tool of the task that the request is about, or STR_NONE
  struct catalog_route routes[CALL_MAX_ROUTES];  // possible upstreams; several only for a URI that no server lists
  size_t route_count, route;
  struct lane *lane;
  bool sent;          // its server may have received it
  bool to_stateless;  // the upstream was stateless when the call was last sent
  // the clock
  uint64_t began;     // loop time
  uint64_t began_us;  // finer, for metrics and spans
  // the outcome
  const struct rpc_message *reply;  // valid until step_firewall returns
  struct call_failure *failure;     // NULL: none
  const char *failed_in;            // the name of the step that failed; NULL: none
  str answer;                       // the result that is sent, raw; STR_NONE: the reply unchanged
  str meta;                         // the _meta for the reply, raw; STR_NONE: its own
  const struct json *shown;         // the answer, parsed, in the request's memory; NULL: none
  bool tool_failed;                 // the tool reports an error
  str rule;                         // the rule that refused the call, as a dotted path; STR_NONE: none
  max_align_t state[];
};

// ---- ends; each returns CALL_DONE, and the call may be freed then

// The upstream's reply, or a fault of the upstream, which gets the server's name.
enum call_result call_answer(struct call *c, const struct rpc_message *reply);
enum call_result call_fault(struct call *c, const struct fault *f);

// A failure that is not the upstream's. code: of the JSON-RPC error. details, data: raw, see call_failure; copied.
enum call_result call_end(struct call *c, const struct fault *f, int code, str details);
enum call_result call_refuse(struct call *c, int code, const char *message, str data);

// A result of the gateway's own: raw.
enum call_result call_reply(struct call *c, str result);

// ---- the target

const struct upstream_spec *call_spec(const struct call *c);  // of the connection that it has, or would get
str call_server(const struct call *c);                        // the name of its upstream
bool call_is_tool(const struct call *c);                      // its method calls a tool
bool call_is_stateless(const struct call *c);                 // its client is stateless
bool call_may_ask(const struct call *c);                      // its method may be answered with input_required
bool call_is_bounded(const struct call *c);                   // its result is cut to the budget
str call_tool_name(const struct call *c);                     // of its tool, or of its task's tool, or STR_NONE
str call_tool_id(struct call *c);                             // or STR_NONE
str call_tool_safe(struct call *c);                           // the client-safe name, or STR_NONE
str call_ref_member(const struct json *ref);                  // the member of params.ref that names the target
struct ticket_use call_use(const struct call *c);             // what a ticket for this call is bound to

// Returns whether the call must not go to another server or be repeated: its client has answered a question, or it
// has become a task.
bool call_is_bound(const struct call *c);
