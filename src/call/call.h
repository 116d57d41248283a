// SPDX-License-Identifier: Apache-2.0
// A call: the handling of one client request by an upstream, from the request to the answer.
//
// A call runs through the steps of the table in call/pipeline.h, in order. The first steps lead to the upstream; the
// steps after step_dispatch handle the outcome. Every call ends in exactly one answer to its request, or is cancelled.
//   - A step before step_dispatch reads c->item and the params of the request. It ends the call with call_refuse or
//     call_end. A step that has the answer already, such as the cache, sets c->reply and continues with call_restart(c,
//     STEP_OUTPUT).
//   - The outcome is c->reply or c->failure; an error that the upstream reported is in both. Before step_firewall,
//     c->reply is valid only until the step returns; step_firewall copies the outcome to c->answer. A step that waits
//     must therefore follow step_firewall, or drop the outcome and call call_restart(c, STEP_CONNECT).
//   - A step that waits must have its timer and its list node in its own state. Its `cancel` must end the waiting.
#pragma once
#include <stddef.h>

#include "call/calls.h"

enum { CALL_MAX_ROUTES = 8 };

// The reason why a call failed. Allocated in the request's arena.
struct call_failure {
  struct fault fault;
  str server;     // the server that was called, or STR_NONE
  int code;       // code of the JSON-RPC error
  str data;       // raw JSON: data that the protocol defines for this error, or STR_NONE
  str details;    // raw JSON object: details that the caller can act on, or STR_NONE
  bool upstream;  // `code` and `data` come from the upstream
};

// The members of a call that more than one step uses. The state of each step is stored after this struct in memory
// (call/pipeline.h).
struct call {
  uint32_t magic;
  struct work work;  // work of `request`
  struct list node;  // node in context->free_calls while this struct is unused
  size_t step;
  struct call_context *context;
  // the request
  struct request *request;  // NULL while the call is parked; the client's next request may belong to another session
  struct session *session;  // the client's session
  struct session *owner;    // session that owns the connection; perhaps another one, if the call is about a task
  const struct call_method *method;
  str about;                // the target as the client named it, for CALL_META
  str named;                // the agent that the request names, or STR_NONE
  str named_server;         // server that the client named, if the call uses another version; otherwise STR_NONE
  struct call_place place;  // server and tool that the client named; server.p is NULL if it named no server
  struct caller_options options;
  // the caller
  struct caller caller;           // found when the call began, or when a request continued the parked call
  struct policy *policy;          // rules when `caller` was found, or NULL
  struct governance *governance;  // the governance file with which `caller` was found, or NULL
  struct run_context *run;        // a reference to caller.run, or NULL
  // the item
  struct catalog *catalog;                       // when the target was last searched
  const struct item *item;                       // the tool or prompt; NULL if the target is neither
  str task_tool;                                 // the tool of the task that the request is about, or STR_NONE
  struct catalog_route routes[CALL_MAX_ROUTES];  // upstreams to try; more than one only for a URI that no server lists
  size_t route_count, route;
  struct lane *lane;
  bool sent;          // the server may have received the request
  bool to_stateless;  // whether the last request was sent to a stateless upstream
  // the clock
  uint64_t began;     // loop time of the start
  uint64_t began_us;  // start in microseconds, for metrics and spans
  // the outcome
  const struct rpc_message *reply;  // valid until step_firewall returns
  struct call_failure *failure;     // NULL if the call has not failed
  const char *failed_in;            // name of the step that failed, or NULL
  str answer;                       // raw JSON: the result to send; STR_NONE: `reply` is sent
  str meta;                         // raw JSON that replaces the reply's _meta; STR_NONE: no change
  const struct json *shown;         // the parsed `answer` in the request's memory, or NULL
  bool tool_failed;                 // the tool reported an error
  str rule;                         // the rule that refused the call, as a dotted path, or STR_NONE
  max_align_t state[];
};

// ---- functions that end a call; each returns CALL_DONE, after which the call may be freed

// call_answer ends the call with the upstream's reply. call_fault ends the call with a fault of the upstream, and puts
// the server's name before the fault's message.
enum call_result call_answer(struct call *c, const struct rpc_message *reply);
enum call_result call_fault(struct call *c, const struct fault *f);

// call_end and call_refuse end the call with a failure that the upstream did not cause. `code` is the code of the
// JSON-RPC error. `details` and `data` are raw JSON (see call_failure); they are copied.
enum call_result call_end(struct call *c, const struct fault *f, int code, str details);
enum call_result call_refuse(struct call *c, int code, const char *message, str data);

// Ends the call with a result made by the gateway (raw JSON).
enum call_result call_reply(struct call *c, str result);

// Reports of the call say that it ended with this fault, although its client gets a result (call_reply).
void call_unfinished(struct call *c, const struct fault *f);

// Returns whether the server may have carried out the call although its outcome is not known.
bool call_is_uncertain(const struct call *c, bool cancelled);

// ---- the target

const struct upstream_spec *
call_spec(const struct call *c);                   // configuration of the server that the call uses or would use
str call_server(const struct call *c);             // the name of the upstream
bool call_is_tool(const struct call *c);           // the method calls a tool
bool call_is_stateless(const struct call *c);      // the client is stateless
bool call_may_ask(const struct call *c);           // the method may be answered with input_required
bool call_is_bounded(const struct call *c);        // the result is cut to a budget
str call_tool_name(const struct call *c);          // name of the tool, or of the task's tool, or STR_NONE
str call_tool_id(struct call *c);                  // the tool's id, or STR_NONE
str call_tool_safe(struct call *c);                // the client-safe name, or STR_NONE
str call_ref_member(const struct json *ref);       // the member of params.ref that names the target
struct ticket_use call_use(const struct call *c);  // caller and request to which tickets for this call are bound

// Returns whether the call must stay with its server and must not be repeated, because the client has answered a
// question of the server, or because the call has become a task.
bool call_is_bound(const struct call *c);
