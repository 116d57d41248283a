// SPDX-License-Identifier: Apache-2.0
// The caller's connection to the upstream: ready, or waited for while it starts.
#pragma once
#include "call/pipeline.h"

struct lane_user call_user(const struct call *c);  // whose connection it uses
