// SPDX-License-Identifier: Apache-2.0
// Requests for approval of calls: makes the record of a call, and answers for calls that wait for a decision.
#pragma once
#include "call/call.h"
#include "effect/approvals.h"
#include "json/write.h"

// Makes the record of a request for approval, except for the evidence and the hash of the call. The strings are in the
// request's memory. Returns false, with the reason in f, if the arguments are too large.
bool approved_draft(struct call *c, struct approval *out, struct fault *f);

// Returns the hash that identifies a caller in requests for approval, in the arena.
str approved_owner(const struct caller *caller, const struct session *s, struct arena *a);

// Returns the hash of a session's id, in the arena; STR_NONE for a stateless client.
str approved_session(const struct session *s, struct arena *a);

// Writes the answer of a call that waits for approval, as the client's model reads it:
// {"status": "approval_required", "request_id", "expires_at", "gate", "role", "next"}. `by_execute`: the client gets the
// outcome with tool_execute, otherwise with approval_status.
void approved_put_pending(const struct approval *x, bool by_execute, struct buf *out);

// Returns the milliseconds for which a request of this client may wait for a decision.
uint64_t approved_wait_ms(const struct governance *g, bool again);

// Replaces a call that has waited for a decision by a new call with the approved arguments, which runs all steps under
// the rules that are now in force. The strings of `approved` must be in the request's memory. Frees `c`.
void approved_begin_again(struct call *c, const struct approval *approved);
