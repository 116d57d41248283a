// SPDX-License-Identifier: Apache-2.0
// Questions of servers with a session to clients: sampling, elicitation, roots.
#pragma once
#include "call/call.h"

// ---- from the upstreams

void calls_ask(struct call_context *x, struct lane *lane, struct link_call *via, const struct rpc_message *m);
void calls_ask_cancelled(struct call_context *x, struct lane *lane, const struct rpc_message *m);
// The lane is ready, perhaps again: drops the questions of an earlier connection.
void calls_lane_ready(struct call_context *x, struct lane *lane);

// Returns the session that a message on a lane is for, or NULL if that is unknown. *out_related: the request during
// which the message came; may be NULL.
struct session *calls_addressee(struct lane *lane, struct link_call *via, struct request **out_related);
// Returns the request that a log message of a stateless server belongs to, or NULL if its client wants no log messages
// or the request is unknown. On a pipe it is the only call in flight.
struct request *calls_logged(struct lane *lane, struct link_call *via);

// ---- for calls

void asks_init(struct call_context *x);
void call_clock(
    struct call *c);  // pauses the timeouts of a call while its client is asked something, else resumes them

// A call that can send questions to its client is in flight: sends the open ones.
void asks_due(struct call *c);

// Writes "q1":{"method":…,"params":…},… for all open questions to this session's client. by: the call that sends them,
// or NULL: tasks/get of the task with this id of the server.
void asks_put(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task, struct buf *out);

// Passes the answers to the server. Questions without an answer are sent again.
void asks_answer(struct call_context *x, struct session *s, struct lane *lane, struct call *by, str task,
                 const struct json *responses);
unsigned asks_sent(const struct call *c);  // questions to its client so far
bool asks_open(const struct call *c);      // returns whether there are questions for its client

// Returns whether there are questions that the capabilities of this request allow. Refuses the others.
bool asks_declared(struct call *c);

void asks_refuse(struct call *c, str why);  // all questions of the call
void asks_forget(struct call_context *x, const struct session *s);
