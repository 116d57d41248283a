// SPDX-License-Identifier: Apache-2.0
// Which upstream has what the request names, and what it is called there.
#pragma once
#include "call/pipeline.h"

// It is found again when servers have settled, or after this time: step_find.
void call_wait_settled(struct call *c, uint64_t ms);
