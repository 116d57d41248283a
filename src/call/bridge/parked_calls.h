// SPDX-License-Identifier: Apache-2.0
// A parked call is a call without a request: it waits until its stateless client answers questions from a server that
// uses sessions.
#pragma once
#include "call/pipeline.h"

// Answers the call's request with the open questions for its client, and parks the call. On failure, refuses the
// questions and returns false.
bool park(struct call *c);

// Gives up a parked call that holds a connection to the server which `c` wants to reach. If `own` is set, gives up the
// oldest such call of the principal of `c`, otherwise the oldest of the principal with the most such calls. Returns
// false if there is no such call.
bool park_make_room(const struct call *c, bool own);
struct call *park_find(struct call_context *x, uint64_t number);  // returns NULL if no parked call has this number

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
