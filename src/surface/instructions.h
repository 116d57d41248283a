// SPDX-License-Identifier: Apache-2.0
// Server instructions in the modes with meta-tools: the beginning of each in the answer to initialize, within
// instructions.budget tokens, and the whole text in tool_browse of a server's path.
//
// Servers write these texts. They are marked as such and cannot imitate text of the gateway: in initialize each is one
// line in quotes; in tool_browse every line begins with "> ". Servers that the agent may not use are left out.
#pragma once
#include "mcp/server/session.h"

struct surface;

// Appends the beginning of the instructions of each server that this client may use.
void meta_put_instructions(struct surface *d, const struct session *s, struct buf *out);

// Appends the instructions of one server, cut so that all of `out` has at most most_tokens, and adds them to the JSON.
void meta_put_server_instructions(struct surface *d, struct request *r, str server, size_t most_tokens, struct buf *out,
                                  struct json_writer *w);
