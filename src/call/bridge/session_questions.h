// SPDX-License-Identifier: Apache-2.0
// Passes questions from servers with a session to clients: sampling, elicitation, roots.
#pragma once
#include "call/call.h"

// ---- from the upstreams

void calls_ask(struct call_context *x, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void calls_ask_cancelled(struct call_context *x, struct lane *lane, const struct rpc_message *m);
// Drops the questions that came over the lane's earlier connection. Must be called when the lane has a new connection.
void calls_lane_ready(struct call_context *x, struct lane *lane);

// Returns the session for which a server's message is meant, or NULL if the session is unknown. Sets *out_related to
// the client's request that the message belongs to, or NULL if the request is unknown.
struct session *calls_addressee(struct lane *lane, struct link_call *via, struct request **out_related);
// Returns the client's request that a log message of a stateless server belongs to. Returns NULL if the client wants no
// log messages or the request is unknown. On a pipe, the request is known only if no other client has calls in flight.
struct request *calls_logged(struct lane *lane, struct link_call *via);

// ---- for calls

void asks_init(struct call_context *x);
void call_clock(struct call *c);  // pauses the call's timeouts if its client has open questions, otherwise resumes them

// Must be called when a call is in flight and its answer may contain questions. Sends the open questions at the end of
// this iteration of the event loop.
void asks_due(struct call *c);

// Writes all open questions for this session's client: "q1":{"method":…,"params":…},… `by` is the call whose answer
// will contain the questions; NULL in an answer to tasks/get. `task` is the server's id of that task.
void asks_put(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task, struct buf *out);

// Passes the client's answers to the server. Questions without an answer are sent to the client again.
void asks_answer(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task,
                 const struct json *responses);
unsigned asks_sent(const struct call *c);  // number of questions sent to the call's client so far
bool asks_open(const struct call *c);      // returns whether there are questions for the client

// Refuses questions that need a client capability which the call's request does not declare. Returns whether any
// questions remain.
bool asks_declared(struct call *c);

void asks_refuse(struct call *c, str why);  // refuses all questions of the call
void asks_forget(struct call_context *x, const struct session *s);
