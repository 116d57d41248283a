// SPDX-License-Identifier: Apache-2.0
// The MCP server behind both benchmark upstreams: a tool `echo` that gives its message back, and padding tools that
// make the list as long as a real one. It speaks the revisions with a handshake (2024-11-05 to 2025-11-25).
#pragma once
#include "base/buf.h"

struct mcp {
  struct buf tools;  // the text of the list
};

enum mcp_answer {
  MCP_NOTHING,      // a notification: nothing to send
  MCP_REPLY,        // the answer was appended
  MCP_INITIALIZED,  // so was the answer to initialize
};

void mcp_init(struct mcp *m, unsigned tool_count);

// Handles one message; appends the answer to out, without a newline.
enum mcp_answer mcp_handle(const struct mcp *m, str message, struct buf *out);
