// SPDX-License-Identifier: Apache-2.0
// Questions of stateless servers to clients with a session. The server answers a call with questions (input_required),
// the client gets a request for each question, and the gateway sends the call to the server again with the answers.
#pragma once
#include "call/pipeline.h"

// Sends the questions in the server's `reply` to the client. When all are answered, the call continues at step_connect.
// If a question cannot be answered, the call fails.
void rounds_begin(struct call *c, const struct rpc_message *reply);
unsigned rounds_count(const struct call *c);  // rounds so far

// Return raw JSON to send to the server: the server's requestState, and the client's answers. Return STR_NONE before
// the server has asked.
str rounds_request_state(const struct call *c);
str rounds_responses(const struct call *c);
