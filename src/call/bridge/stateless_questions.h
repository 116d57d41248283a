// SPDX-License-Identifier: Apache-2.0
// A stateless server answers a call with questions (input_required) while a client with a session waits: the client
// gets a request for each question, and the call goes to the server again with the answers.
#pragma once
#include "call/pipeline.h"

// Asks the client. The call continues at step_connect with the answers, or fails.
void rounds_begin(struct call *c, const struct rpc_message *reply);
unsigned rounds_count(const struct call *c);  // rounds so far

// Return raw JSON for the server: its requestState, and the client's answers. STR_NONE before the first round.
str rounds_request_state(const struct call *c);
str rounds_responses(const struct call *c);
