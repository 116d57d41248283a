// SPDX-License-Identifier: Apache-2.0
// Sends requests of the gateway whose answers are ignored.
#pragma once
#include "upstream/upstream.h"

// Sends nothing if the lane is not ready. `name` is the value of the HTTP header Mcp-Name, which only stateless servers
// need; otherwise STR_NONE.
void lane_send_quietly(struct lane *lane, str method, str name, str params);
