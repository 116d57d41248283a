// SPDX-License-Identifier: Apache-2.0
// Parked calls wait, without a request, until their stateless client answers questions of a server with a session.
#pragma once
#include "call/pipeline.h"

// Answers the call's request with the open questions for its client, and parks the call. On failure, refuses the
// questions and returns false.
bool park(struct call *c);

// Gives up one parked call to free a connection that `c` needs. Chooses the principal with most parked calls on such
// connections or, with `own`, the principal of `c`, and gives up its oldest such call. Returns false if there is none.
bool park_make_room(const struct call *c, bool own);
struct call *park_find(struct call_context *x, uint64_t number);  // NULL if there is no such parked call

// Returns whether the current rules allow the caller of `by` to continue the parked call `c`. If so, `c` continues
// under the current rules.
bool park_allowed(struct call *c, const struct call *by);

// Frees a parked call. The questions of its server are refused.
void park_give_up(struct call *c, const char *why);

// Continues a parked call with the client's next request `r`, which the call will answer.
void park_resume(struct call *c, struct request *r);
bool park_is(const struct call *c);
bool park_was(const struct call *c);       // the call is parked, or was parked earlier
struct arena *call_arena(struct call *c);  // lives as long as the call

// Stores the upstream's reply to a parked call, or the failure of the call, until the client's next request.
void park_keep(struct call *c, const struct rpc_message *reply, const struct fault *f);
