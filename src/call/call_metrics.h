// SPDX-License-Identifier: Apache-2.0
// What is counted of a call when it and its request part, or the client gives up.
#pragma once
#include "call/pipeline.h"

void call_measure(struct call *c, bool cancelled);              // its request is about to be answered, or was given up
void call_measure_saved(struct call *c, str whole, str shown);  // a result was cut

// How it ended and where, for those who watch: what was hidden from its caller is not from them.
enum fault_code call_ended_with(const struct call *c);
str call_ended_at(const struct call *c);  // STR_NONE: it got to none
