// SPDX-License-Identifier: Apache-2.0
// Questions of stateless servers to clients with a session. The server answers a call with questions (input_required),
// the client gets a request for each question, and the gateway sends the call to the server again with the answers.
#pragma once
#include "call/pipeline.h"

// Sends the questions in the server's `reply` to the client. When all are answered, the call continues at step_connect.
// If a question cannot be answered, the call fails.
void rounds_begin(struct call *c, const struct rpc_message *reply);
unsigned rounds_count(const struct call *c);  // rounds so far

// Raw JSON to send to the server: rounds_request_state returns the server's requestState, rounds_responses returns the
// client's answers. Both return STR_NONE before the server has asked.
str rounds_request_state(const struct call *c);
str rounds_responses(const struct call *c);
