// SPDX-License-Identifier: Apache-2.0
// A server with a session asks while a stateless client waits for its call. The client cannot be sent a request, so its
// call is answered: input_required, with the questions and a sealed ticket. The call itself stays as it is, without a
// request: parked. The client calls again with answers and ticket; that request takes the call up, the answers go to
// the server, and the call goes on from where it was.
#pragma once
#include "call/pipeline.h"

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
