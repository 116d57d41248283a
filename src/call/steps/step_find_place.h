// SPDX-License-Identifier: Apache-2.0
// A tool that its caller names by its server. The rules come first: who may not use it hears the same whether it is
// there or not. Then its server is waited for, if that has not told yet what it has.
#pragma once
#include "call/pipeline.h"

enum call_result place_find(struct call *c);  // for step_find
