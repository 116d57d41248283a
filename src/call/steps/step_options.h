// SPDX-License-Identifier: Apache-2.0
// What the caller wants besides the call itself: a rehearsal, and an end to the waiting. A meta-tool has arguments for
// it; in every mode it may stand in _meta. Of two wishes the more careful one holds.
#pragma once
#include "call/pipeline.h"

void call_expire(struct call *c);           // the caller waits no longer
void call_hold(struct call *c);             // its client is asked something: that time is not the call's
void call_unhold(struct call *c);           // it has answered
uint64_t call_spent(const struct call *c);  // the time that it took so far, before this request too
