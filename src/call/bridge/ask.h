// SPDX-License-Identifier: Apache-2.0
// Questions of servers with a session to clients: sampling, elicitation, roots. Each goes to the client whose call it
// belongs to. A client with a session is sent a request, under an id of ours, and its answer goes back under the
// server's. A stateless client gets it as the answer to its call (park.c), and answers by calling again.
#pragma once
#include "call/pipeline.h"

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
