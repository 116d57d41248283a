// SPDX-License-Identifier: Apache-2.0
// What the audit log says of a call: told to its request's note when the two part, or the client gives up.
#pragma once
#include "call/pipeline.h"

// Its request is about to be answered, or given up. asked: with questions, and the call goes on.
void call_audit(struct call *c, bool asked);
