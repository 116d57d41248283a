// SPDX-License-Identifier: Apache-2.0
// Parked calls: they wait, without a request, for their stateless client to answer questions of a server with a
// session.
#pragma once
#include "call/pipeline.h"

// Answers the request with the open questions for its client, and parks the call. Returns false if that failed; the
// questions of this call are refused then.
bool park(struct call *c);

// Gives up the oldest parked call that holds a connection which this call needs: a call of the principal with most of
// them, or with `own` only of this call's principal. Returns false if there is no such call.
bool park_make_room(const struct call *c, bool own);
struct call *park_find(struct call_context *x, uint64_t number);  // NULL: not parked

// Returns whether the rules in force allow a parked call for the caller of `by`. If so, they become the rules of the
// call.
bool park_allowed(struct call *c, const struct call *by);

// Frees a parked call. Its server gets a refusal of its questions.
void park_give_up(struct call *c, const char *why);

// Continues a parked call with the request of a retry. Takes r.
void park_resume(struct call *c, struct request *r);
bool park_is(const struct call *c);
bool park_was(const struct call *c);       // is parked, or was parked and has been continued
struct arena *call_arena(struct call *c);  // lives as long as the call

// Keeps the upstream's reply to a parked call, or its failure, for the retry.
void park_keep(struct call *c, const struct rpc_message *reply, const struct fault *f);
