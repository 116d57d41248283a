// SPDX-License-Identifier: Apache-2.0
// A call that its server could not be asked, or did not answer, is made again after a while, where the operator wants
// that. What the server answers is an answer, whatever it says.
#pragma once
#include "call/pipeline.h"

// Its server was not asked, or did not answer: true when it will be tried again.
bool call_retry(struct call *c, const struct fault *f);
uint64_t call_time_max(const struct call *c);  // how long the next request may take at most
