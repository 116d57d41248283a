// SPDX-License-Identifier: Apache-2.0
// Functions of the steps that other files of call/ use, in the order of the steps.
#pragma once
#include "call/pipeline.h"

// ---- step_resume.c
const struct ticket *call_ticket(const struct call *c);  // the ticket in the request's requestState, or NULL

// ---- step_chain.c

// Sets *out to the names of the gateways that the call has passed, to send them to the server. If the client is not a
// gateway, sets *out to STR_NONE. Returns false, with the reason in `f`, if the call must be refused because it has
// passed this gateway before or too many gateways.
bool call_chain_out(struct call *c, str *out, struct fault *f);

// ---- step_options.c: the deadline that the caller sets
void call_deadline_limit(struct call *c, uint64_t ms);  // makes the call end within `ms` milliseconds
void call_deadline_end(struct call *c);                 // stops the deadline, because the outcome is known
void call_deadline_hold(struct call *c);                // pauses the deadline while the client answers a question
void call_deadline_release(struct call *c);             // continues the deadline after the client has answered
uint64_t call_deadline(const struct call *c);  // loop time of the deadline; UINT64_MAX if no deadline is running
uint64_t call_spent(const struct call *c);     // milliseconds that the call has taken, including its earlier requests

// ---- step_find.c: the upstream and the item
// Sets the call's target, if the surface has already found it.
void find_set(struct call *c, const struct item *item, str name);
bool find_is_set(const struct call *c);

// ---- step_policy.c

// An item that the call names but that its caller may not see. The caller gets the answer that the item does not exist.
// The audit log, metrics and spans name the item.
struct call_hidden {
  unsigned source;
  str tool;  // STR_NONE: not a tool
};
void policy_hide(struct call *c, unsigned source, enum item_kind kind, str name);
void policy_unhide(struct call *c);
const struct call_hidden *policy_hidden(const struct call *c);  // NULL: nothing was hidden

// Returns whether the caller may see a tool of the server `source` or, if `kind` is not ITEM_TOOL, the server.
bool policy_lets_see(const struct call *c, unsigned source, enum item_kind kind, str name);

// Returns whether the current rules allow this client to receive a message of a server. Uses the current rules, not
// those of the call to which the message belongs. `named` is the agent that the request names, or STR_NONE. `tool` is
// the tool that the message is about; it may be empty.
bool policy_lets_hear(const struct call_context *x, const struct session *s, str named, unsigned source, str tool);

// Returns whether a denial is left to step_govern, whose fault has the code of the decision: the governance file hides a
// tool that the caller could see when a call of it was approved.
bool policy_defers(const struct call *c, const struct policy_decision *d);

// Refuses a call that the rules do not allow. `tool` is STR_NONE if the rules deny the whole server.
enum call_result policy_refuse(struct call *c, const struct policy_decision *d, str tool);

// Returns the name of the rule in the fault that the caller reads. c->rule, which is logged, may be more precise.
str policy_public_rule(const struct call *c);

// ---- step_param_headers.c

// Sets *out_name to the value of the header Mcp-Name, and *out_headers to the headers that repeat arguments. If the
// upstream does not use HTTP, sets both to STR_NONE. Returns false if the headers exceed their size limit.
bool call_put_headers(struct call *c, str *out_name, str *out_headers);

// ---- step_repair.c
str repair_list(const struct call *c);                     // raw JSON of the list of repairs, or STR_NONE
const struct json *repair_original(const struct call *c);  // the client's params if they were repaired, otherwise NULL

// ---- step_quota.c
bool quota_reached(const struct call *c);  // returns whether a dry run has found that a rate limit is reached
void quota_forget(struct call_context *x, const struct session *s);

// Writes details about a limit that was reached: {"scope":…,"retry_after":…}. after_ms is the time until the next
// attempt. after_ms is 0, and retry_after is left out, if the time is unknown or waiting does not help.
void quota_put(struct buf *out, const char *scope, uint64_t after_ms);

// ---- step_cache.c
bool cache_answered(const struct call *c);     // whether the result comes from the cache
bool cache_is_degraded(const struct call *c);  // and had expired, but the server is not called now

// Answers a call of a read-only tool with a result from the cache that expired at most `most_ms` ago. Returns false if
// there is none.
bool cache_answer_degraded(struct call *c, uint64_t most_ms);

// Returns a message with a stored result (raw JSON), as if the server had sent it. Returns NULL if it cannot be parsed.
const struct rpc_message *call_stored_reply(struct call *c, str bytes);

// ---- step_breaker.c
void breaker_ended(struct call *c, bool cancelled);  // counts the outcome of a call

// ---- step_connect.c: the lane and the turn on it
struct lane_user call_user(const struct call *c);         // the user for whom the call gets a lane
const struct lane *call_held_lane(const struct call *c);  // returns the lane that the call keeps open, or NULL
void call_turn_end(struct call *c);                       // ends the turn, with the request in flight

// ---- step_roots.c
void roots_answered(struct call *c);  // must be called when the client of a delayed call has answered

// ---- step_sign.c
str call_signed(const struct call *c);                // the token of the signed decision, or STR_NONE
void call_sign_header(struct call *c, str *headers);  // adds the header with the token, if there is one

// ---- step_dispatch.c
typedef void call_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f);
uint64_t call_timeout(const struct call *c);        // configured timeout of the tool or server
struct link_call *call_link(const struct call *c);  // the request in flight to the server
struct call *call_of_link(struct link_call *lc);    // the call of a request in flight
struct call *call_on_lane(struct list *node);       // the call of a node in lane.calls
void call_join_lane(struct call *c);                // questions of the server find the call there
void call_leave_lane(struct call *c);
const struct large_message *call_large(const struct call *c);  // the large message that contains the reply, or NULL
struct large_message *call_hold_large(const struct call *c);   // as call_large, with a new reference
void call_empty_large(struct call *c);                         // frees the reply's text and nodes

// Begins a request to the call's upstream; link_call_send must send it. May be used only while step_dispatch runs,
// because the connection may be lost afterwards. To send a further request later, use call_continue.
void call_begin(struct call *c, call_done *done, uint64_t timeout_ms);
call_done call_on_done;

// Looks up the call's lane (connection to the server) again, because the old one may have been freed. Then calls
// `next`, which must send a request.
void call_continue(struct call *c, void (*next)(struct call *c));
bool call_continues(const struct call *c);

// Handles the upstream's reply, which may be an outcome, questions for the client, or a task.
void call_replied(struct call *c, const struct rpc_message *reply);

// Sends the call to the next upstream that may have the URI. Returns false if there is no other upstream.
bool call_try_next(struct call *c);

// ---- step_retry.c
bool call_retry(struct call *c, const struct fault *f);  // returns whether another attempt follows
unsigned call_retries(const struct call *c);             // number of failed attempts after which the call was repeated
uint64_t call_time_max(const struct call *c);            // maximum milliseconds for the next request

// ---- step_firewall.c
const str *firewall_handles(const struct call *c, size_t *count);  // handles of the pieces that were stored

// ---- step_provenance.c
str call_provenance(struct call *c);  // how the result was obtained, as raw JSON members, or STR_NONE
// Returns the details of a fault as a raw JSON object, or STR_NONE.
str call_fault_details(struct call *c, const struct fault *f);
// Returns a copy of the reply whose _meta is replaced by `meta`.
const struct rpc_message *call_with_meta(struct call *c, const struct rpc_message *reply, str meta);
// Parses the text of a changed reply. Returns NULL if it is invalid.
const struct rpc_message *call_read_again(struct call *c, str text);

// ---- step_store.c

// Returns the address of the pointer to the pieces (parts of the result) that step_store must write. That pointer is
// NULL if there are no pieces.
struct piece_batch **call_pieces(const struct call *c);

// ---- step_govern.c
const struct governance_capability *call_capability(const struct call *c);  // NULL if the call is not governed
enum approval_mode call_mode(const struct call *c);                         // the effective mode of a governed call
// Returns the id of the Decision Record of a governed call: "pol_" and 16 hexadecimal digits. Returns STR_NONE before
// the decision, for a dry run, and for a call that is not governed. The text is in the call's state.
str call_decision_id(const struct call *c);
// returns the address of the pointer to the call's record, which is NULL without a record
struct governed_call **call_governed(const struct call *c);

// The gates that must approve a call, in the request's memory; they belong to the call's governance.
struct call_gates {
  const struct governance_gate **list;
  size_t count;
};
const struct call_gates *call_gates(const struct call *c);

// ---- step_approval.c
const struct approval *call_approval(const struct call *c);  // the call's request for approval, or NULL
bool call_is_approved(const struct call *c);                 // the request was redeemed for this call
void approval_ended(struct call *c, bool cancelled);         // must be called when the call ends

// ---- step_flow.c
unsigned flow_marks_before(struct call *c);    // marks of the call's run; 0 if the call itself has no marks
enum call_result flow_refuse(struct call *c);  // ends a call whose decision is FLOW_DENIED
// Applies the flow guard to a request for the result of a task that the gateway stores. Returns CALL_NEXT, or ends the
// call.
enum call_result flow_of_task(struct call *c, unsigned source, str tool);

// ---- step_budget.c
void budget_forget(struct call_context *x, const struct session *s);

// ---- step_schema.c

// Sets *out to the schema for the arguments of the tool, or to NULL if all arguments are allowed. Returns false, with
// the reason in `f`, if the tool's schema cannot be used.
bool call_schema(struct call *c, const struct schema **out, struct fault *f);

// Writes the errors of a validation, and the part of the schema that the value violates, as a JSON object.
void schema_put_errors(struct buf *out, const struct schema *s, const struct schema_result *r);

// ---- step_output.c

// Refuses a call whose result could not be validated, because the output schema of the tool cannot be used.
enum call_result output_prepare(struct call *c);
// Validates a tool's result that does not pass step_output. If the result is invalid and may not reach the client, ends
// the call and returns true.
bool output_refuses(struct call *c, const struct json *result);
str output_report(const struct call *c);  // raw JSON object with the errors of an invalid result, or STR_NONE

// ---- step_trace.c
struct call_trace {
  str parent, state;  // header values traceparent and tracestate; `state` may be STR_NONE
};
bool call_trace_out(struct call *c, struct call_trace *out);   // the trace for the server; false: no trace
void call_trace_headers(struct call *c, str *headers);         // adds the trace to HTTP headers
const struct trace_context *call_trace(const struct call *c);  // all zero if there is no tracer
str call_trace_id(struct call *c);                             // trace id in hex, or STR_NONE
