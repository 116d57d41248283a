// SPDX-License-Identifier: Apache-2.0
// Sends requests of the gateway whose answers are ignored.
#pragma once
#include "upstream/upstream.h"

// `name` is the value of the header Mcp-Name for a stateless HTTP server, or STR_NONE. Does nothing if the lane is not
// ready.
void lane_send_quietly(struct lane *lane, str method, str name, str params);
