// SPDX-License-Identifier: Apache-2.0
// Requests of the gateway whose answer is ignored.
#pragma once
#include "upstream/upstream.h"

// `name` is the value of Mcp-Name for a stateless server on HTTP, or STR_NONE. Does nothing if the lane is not ready.
void lane_send_quietly(struct lane *lane, str method, str name, str params);
