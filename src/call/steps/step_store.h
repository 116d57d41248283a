// SPDX-License-Identifier: Apache-2.0
// What the firewall keeps is durable before the answer that names it leaves.
#pragma once
#include "call/pipeline.h"

struct piece_batch **call_pieces(const struct call *c);  // for step_store to keep; *NULL: nothing
