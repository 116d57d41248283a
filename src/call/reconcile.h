// SPDX-License-Identifier: Apache-2.0
// Finds out whether a call whose outcome is unknown had its effect, by a call of another capability (the member
// `reconcile` of the governance file). The other call has the same caller, and all rules apply to it.
#pragma once
#include "call/call.h"
#include "effect/idempotency.h"

// Makes the other call. If the effect has happened, then answers `c` as a replay; if not, continues `c`, which is sent;
// otherwise refuses `c` with EFFECT_UNKNOWN. `record` is in the request's memory. Returns CALL_WAIT or CALL_DONE.
enum call_result reconcile(struct call *c, struct claim *claim, const struct claim_record *record);
