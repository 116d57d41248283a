// SPDX-License-Identifier: Apache-2.0
// A request that comes with a requestState answers questions it was asked before. What the state says is checked before
// anything else is done.
#pragma once
#include "call/pipeline.h"

// May the answer to this be input_required? (tools/call, prompts/get, resources/read)
bool call_may_ask(const struct call *c);
bool call_is_stateless(const struct call *c);            // its client is
const struct ticket *call_ticket(const struct call *c);  // that the request came with; NULL: none
