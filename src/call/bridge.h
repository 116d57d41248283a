// SPDX-License-Identifier: Apache-2.0
// The bridge between the eras: what the files of this folder share about calls whose two sides speak differently.
#pragma once
#include "call/pipeline.h"
#include "json/write.h"

// May the answer to this be input_required? (tools/call, prompts/get, resources/read)
bool call_may_ask(const struct call *c);
bool call_is_stateless(const struct call *c);  // its client is

const struct ticket *call_ticket(const struct call *c);  // that the request came with; NULL: none

// ---- about.c

const struct upstream_spec *call_spec(const struct call *c);  // of the connection that it has, or would get
str call_server(const struct call *c);                        // the name of the upstream it goes to
bool call_is_tool(const struct call *c);                      // it calls one
str call_tool_name(const struct call *c);                     // of the tool, or that of its task; STR_NONE: none
str call_ref_member(const struct json *ref);                  // that names what is to be completed
str call_tool_id(struct call *c);                             // its id; STR_NONE: it has none
str call_tool_safe(struct call *c);                           // its client-safe name; STR_NONE: it has none
bool call_is_bounded(const struct call *c);                   // its result is cut to what fits
struct ticket_use call_use(const struct call *c);             // what a ticket for this call is for
// Its client has answered something on the way, or it has become a task: it goes to no other server, nor again.
bool call_is_bound(const struct call *c);

// ---- the controls: wish.c, quota.c, retry.c, provenance.c

void call_expire(struct call *c);           // the caller waits no longer
void call_hold(struct call *c);             // its client is asked something: that time is not the call's
void call_unhold(struct call *c);           // it has answered
uint64_t call_spent(const struct call *c);  // the time that it took so far, before this request too
// The details of a limit that was reached: {"scope", "retry_after"?}. after_ms 0: waiting helps not, or nobody knows.
void call_put_limit(struct buf *out, const char *scope, uint64_t after_ms);
void calls_forget_quota(struct call_context *x, const struct session *s);
// Its server was not asked, or did not answer: true when it will be tried again.
bool call_retry(struct call *c, const struct fault *f);
uint64_t call_time_max(const struct call *c);                   // how long the next request may take at most
str call_fault_details(struct call *c, const struct fault *f);  // of an upstream's: raw object; STR_NONE: nothing
str call_provenance(struct call *c);                            // members of an object, raw; STR_NONE: nothing to tell
const struct rpc_message *call_with_meta(struct call *c, const struct rpc_message *reply, str meta);  // another _meta
const struct rpc_message *call_read_again(struct call *c, str text);  // a reply that was changed, in the arena; or NULL

// ---- record.c

void call_record(struct call *c);  // writes down what is about to be told

// ---- audit.c

// Its request is about to be answered, or given up. asked: with questions, and the call goes on.
void call_audit(struct call *c, bool asked);

// ---- measure.c

void call_measure(struct call *c, bool cancelled);              // its request is about to be answered, or was given up
void call_measure_saved(struct call *c, str whole, str shown);  // a result was cut
// How it ended and where, for those who watch: what was hidden from its caller is not from them.
enum fault_code call_ended_with(const struct call *c);
str call_ended_at(const struct call *c);  // STR_NONE: it got to none

// ---- chain.c

// The chain to send to the server: the gateways that the call has passed. STR_NONE if no gateway makes the call. False:
// the call must not go on, f says why.
bool call_chain_out(struct call *c, str *out, struct fault *f);

// ---- trace.c

struct call_trace {
  str parent, state;  // traceparent, tracestate; state may be STR_NONE
};
void call_trace_begin(struct call *c);
bool call_trace_out(struct call *c, struct call_trace *out);  // what its server is told; false: nothing
void call_trace_headers(struct call *c);                      // the same, added to c->link's
void call_event(struct call *c, bool cancelled);              // the same, as a diagnostic event
void call_trace_end(struct call *c, bool cancelled);          // its request is about to be answered, or was given up
void call_trace_refused(struct call_context *x, struct request *r, const struct call_refused *c);
const struct trace_context *call_trace(const struct call *c);  // zero if there is no tracer
str call_trace_id(struct call *c);                             // in hex; STR_NONE: it belongs to none

// ---- policy.c

bool policy_lets_see(const struct call *c, unsigned source, enum item_kind kind, str name);
// The caller may not see what it names, and will hear that there is no such thing; those who watch are told.
void call_hide(struct call *c, unsigned source, enum item_kind kind, str name);
// May this client hear from that server, by the rules as they are now? What a server asks is no end of a call that it
// may finish, but something new. named: the agent that the request named during which it comes; or STR_NONE. tool: the
// tool that it is about; empty: none.
bool policy_lets_hear(const struct call_context *x, const struct session *s, str named, unsigned source, str tool);
// Ends a call that the rules do not allow. tool: STR_NONE: it is about the server.
enum call_result policy_refuse(struct call *c, const struct policy_decision *d, str tool);

// ---- place.c

enum call_result place_find(struct call *c);  // for step_find

// ---- connect.c

struct lane_user call_user(const struct call *c);  // whose connection it uses
uint64_t call_timeout(const struct call *c);       // of its tool or server, as the configuration says
// It is found again when servers have settled, or after this time: step_find.
void call_wait_settled(struct call *c, uint64_t ms);

// ---- dispatch.c

typedef void call_done(struct link_call *lc, const struct rpc_message *reply, const struct fault *f);
// A request to the call's upstream, to be sent by link_call_send.
void call_begin(struct call *c, call_done *done, uint64_t timeout_ms);
call_done call_on_done;
// Goes on after a while in which the lane may have gone: it is found anew, and then `next` sends.
void call_continue(struct call *c, void (*next)(struct call *c));
bool call_continues(const struct call *c);  // it has
// The upstream has answered the call: with what it is for, or with something that comes first.
void call_replied(struct call *c, const struct rpc_message *reply);

// ---- repair.c

const struct json *
repair_said(const struct call *c);  // params as the client wrote them, if they were repaired; or NULL

// ---- firewall.c and store.c

const str *call_handles(const struct call *c, size_t *count);  // of what is kept of its result, for call_record
struct piece_batch **call_pieces(const struct call *c);        // for step_store to keep; *NULL: nothing

// ---- scrub.c

// A message of a server without hidden characters (text/hidden.h): m, or a copy in the arena. A parcel has none.
const struct rpc_message *calls_unhide(const struct call_context *x, const struct rpc_message *m, struct arena *a);
// Removes hidden characters from the texts of a result of ours, which may quote data of a server.
void calls_unhide_text(const struct call_context *x, struct buf *result);
// A stateless server's questions with their secrets masked, where results are scrubbed. In the request's arena. NULL:
// they cannot be masked.
const struct rpc_message *call_scrub_questions(struct call *c, const struct rpc_message *reply);
// An error that names URLs to open (RPC_URL_NEEDED) with secrets and addresses masked outside of these URLs. NULL: it
// cannot be masked.
const struct rpc_message *call_scrub_url_needed(struct call *c, const struct rpc_message *reply);
// A raw result that does not pass step_firewall, masked as that would. STR_NONE: it is too large to be looked through.
str call_scrubbed(struct call *c, str result);

// ---- mirror.c

// What an upstream on HTTP wants repeated in headers; sets c->link's. False: more than headers can hold.
bool mirror_headers(struct call *c);

// ---- translate.c

// The params that go to the upstream: in its names, with its progress token, in its revision. Valid until the next.
// False: they are larger than a message may be.
bool translate_params(struct call *c, str *out);
// Answers the request with an upstream's reply, in the client's revision. Frees the call.
void translate_reply(struct call *c, const struct rpc_message *reply);

// Writes a result of our own making in the client's revision.
void translate_told(struct call *c, const struct json *told, struct buf *out);
// Writes a stateless server's result as a client with a session wants it.
void translate_result(struct call *c, const struct json *result, struct buf *out);
// And that of a server with a session as a stateless client wants it.
void translate_renewed(struct call *c, const struct json *result, struct buf *out);

// What a stateless server's result says it is; RESULT_COMPLETE for errors, and for the results of other servers.
enum result_type { RESULT_COMPLETE, RESULT_INPUT_REQUIRED, RESULT_TASK, RESULT_UNKNOWN };
enum result_type result_type(const struct call *c, const struct rpc_message *reply);

// ---- roots.c

void roots_answered(struct call *c);  // the client of a call that was held back has answered

// ---- rounds.c: a stateless server has questions for a client with a session

// Asks the client; the call goes on at step_connect with the answers, or fails.
void rounds_begin(struct call *c, const struct rpc_message *reply);
unsigned rounds_count(const struct call *c);
// Raw, for the server: its requestState and the client's answers; STR_NONE before the first round.
str rounds_request_state(const struct call *c);
str rounds_responses(const struct call *c);

// ---- park.c: a server with a session has questions for a stateless client

// Answers the request with the questions that wait for its client. The call waits for a retry.
// False: it could not, and the questions were refused as far as they are its own.
bool park(struct call *c);
// Gives up the call that waits longest for a client's answers, of those whose connections this one needs: of the
// principal that has most of them, or only of its own. False: there is none.
bool park_make_room(const struct call *c, bool own);
struct call *park_find(struct call_context *x, uint64_t number);  // NULL: it does not wait (any more)
// May a call that waits go on, by the rules as they are now, for the caller of `by`? From then on they are its rules.
bool park_allowed(struct call *c, const struct call *by);
// Frees a call that waits. Its server gets a refusal of its questions.
void park_give_up(struct call *c, const char *why);
// A retry has come: its request takes the call up. Takes r.
void park_resume(struct call *c, struct request *r);
bool park_is(const struct call *c);
struct arena *call_arena(struct call *c);  // lives as long as the call
// The upstream has answered meanwhile, or can no longer: kept for the retry.
void park_keep(struct call *c, const struct rpc_message *reply, const struct fault *f);
void park_free(struct call *c);  // for call_free

// ---- ask.c: questions of servers with a session, as far as they concern stateless clients

void asks_init(struct call_context *x);
void call_clock(struct call *c);  // stands still while its client is being asked something
// A call that can tell its client something is under way: it will tell what waits.
void asks_due(struct call *c);
// Writes "q1":{"method":…,"params":…},… of all that this session's client is to answer to a server; `by`: the call that
// tells it, or NULL: tasks/get of the task with this id (the server's).
void asks_put(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task, struct buf *out);
// Passes the answers on; what is missing will be asked again.
void asks_answer(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task,
                 const struct json *responses);
unsigned asks_told(const struct call *c);  // questions sent to its client
bool asks_open(const struct call *c);      // are there questions for its client?
// Is there anything to tell that this very request lets us ask? What it does not is refused.
bool asks_declared(struct call *c);
// The call is over, and will bring no answers: the server hears that.
void asks_refuse(struct call *c, const char *why);
void asks_forget(struct call_context *x, const struct session *s);

// ---- task_bridge.c

enum call_task {
  TASK_NONE,     // it is no task, or both sides mean the same by it
  TASK_CORE,     // a client of 2025-11-25 wants one of a stateless server
  TASK_SHOWN,    // a stateless client gets that of a server of 2025-11-25
  TASK_AWAITED,  // its result is waited for, for a client that does not know of it
};

struct task;
enum call_task task_kind(const struct call *c);
str task_id(const struct call *c);  // the one that it is about, or that is awaited; empty: none
void task_prepare(struct call *c);  // before it is sent: shall it be a task?
// What the params say of tasks to this upstream. False: no change.
bool task_edit(const struct call *c, struct json_edit *out);
str task_capabilities(struct call *c);                             // of the client, for a stateless server
bool task_reply(struct call *c, const struct rpc_message *reply);  // true: it is about a task, and was dealt with
bool task_method(struct call *c);                                  // a tasks/ method for the other era: true: sent
void task_answer(struct call *c, str answers);                     // the client has answered a task's questions
void task_wait(struct call *c);                                    // it asks nothing new: polled on
void task_abandon(struct call *c);                                 // nobody waits for it any more
enum call_result task_finished(struct call *c, const struct task *task);  // a tasks/ method for one of ours
