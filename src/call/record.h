// SPDX-License-Identifier: Apache-2.0
// What was called and what was told of it, as events of the session (context/recorder.h), where that is wanted.
#pragma once
#include "call/pipeline.h"

void call_record(struct call *c);  // writes down what is about to be told
