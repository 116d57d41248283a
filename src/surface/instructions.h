// SPDX-License-Identifier: Apache-2.0
// Server instructions in the modes with meta-tools. The answer to initialize has the beginning of each server's text;
// all beginnings together have at most instructions.budget tokens. The answer to tool_browse for a server's path has
// the whole text.
//
// Servers write these texts. The texts are marked, so that they cannot imitate text of the gateway: in initialize each
// text is one line in quotes; in tool_browse every line begins with "> ". Servers that the agent may not use are left
// out.
#pragma once
#include "mcp/server/session.h"

struct surface;

// Appends the beginning of the instructions of each server that this client may use.
void meta_put_instructions(struct surface *d, const struct session *s, struct buf *out);

// Appends the instructions of one server, cut so that the whole of `out` has at most most_tokens tokens. Also adds the
// instructions to the JSON answer.
void meta_put_server_instructions(struct surface *d, struct request *r, str server, size_t most_tokens, struct buf *out,
                                  struct json_writer *w);
