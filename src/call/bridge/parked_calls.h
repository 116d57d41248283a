// SPDX-License-Identifier: Apache-2.0
// Parked calls are calls without a request. Each waits until its stateless client answers questions of a server with a
// session.
#pragma once
#include "call/pipeline.h"

// Answers the call's request with the open questions for its client, and parks the call. On failure, refuses the
// questions and returns false.
bool park(struct call *c);

// Gives up one parked call to free a connection to the server that the call `c` wants to reach: the oldest call of the
// principal that has most parked calls on such connections or, if `own` is set, of the principal of `c`. Returns false
// if there is no such call.
bool park_make_room(const struct call *c, bool own);
struct call *park_find(struct call_context *x, uint64_t number);  // NULL if there is no such parked call

// Returns whether the current rules allow the caller of `by` to continue the parked call `c`. If so, `c` continues
// under the current rules.
bool park_allowed(struct call *c, const struct call *by);

// Frees a parked call and refuses the server's questions.
void park_give_up(struct call *c, const char *why);

// Continues a parked call with `r`, the client's next request. The outcome of the call becomes the answer to `r`.
void park_resume(struct call *c, struct request *r);
bool park_is(const struct call *c);
bool park_was(const struct call *c);       // the call is parked, or was parked earlier
struct arena *call_arena(struct call *c);  // an arena that lives as long as the call, even while the call is parked

// Stores the upstream's reply to a parked call until the client's next request. If `f` is not NULL, stores the failure
// `f` instead.
void park_keep(struct call *c, const struct rpc_message *reply, const struct fault *f);
