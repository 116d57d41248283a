// SPDX-License-Identifier: Apache-2.0
// Sends the gateway's own requests to a server and ignores the answers.
#pragma once
#include "upstream/upstream.h"

// Sends a request, or nothing if the lane is not ready. `name` is the value of the HTTP header Mcp-Name for a stateless
// server, or STR_NONE.
void lane_send_quietly(struct lane *lane, str method, str name, str params);
