// SPDX-License-Identifier: Apache-2.0
// Requests of our own whose answer nobody waits for.
#pragma once
#include "upstream/upstream.h"

// name: what Mcp-Name says to a stateless server on HTTP, or STR_NONE. Nothing happens while the lane is not ready.
void lane_send_quietly(struct lane *lane, str method, str name, str params);
