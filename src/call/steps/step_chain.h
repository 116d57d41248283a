// SPDX-License-Identifier: Apache-2.0
// A call that a gateway makes for its own client says which gateways it has passed: none of them twice, and not too
// many. Over a pipe there is no other way to tell than in the call itself.
#pragma once
#include "call/pipeline.h"

// The chain to send to the server: the gateways that the call has passed. STR_NONE if no gateway makes the call. False:
// the call must not go on, f says why.
bool call_chain_out(struct call *c, str *out, struct fault *f);
