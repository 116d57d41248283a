// SPDX-License-Identifier: Apache-2.0
// The MCP server behind both benchmark upstreams: a tool `echo` that gives its message back, and padding tools that
// make the list as long as a real one. It speaks one era, and is not to be taken for a server of the other: with a
// handshake it does not know server/discover; without, it refuses every request that is not a modern one.
#pragma once
#include "base/buf.h"

enum mcp_era {
  MCP_HANDSHAKE,  // initialize first: 2024-11-05 to 2025-11-25
  MCP_MODERN,     // stateless: 2026-07-28
};

struct mcp {
  enum mcp_era era;
  struct buf tools;  // the text of the list
};

// What a modern request repeats in HTTP headers.
struct mcp_headers {
  str version, method, name;
};

enum mcp_answer {
  MCP_NOTHING,      // a notification: nothing to send
  MCP_REPLY,        // the answer was appended
  MCP_INITIALIZED,  // so was the answer to initialize
  MCP_UNKNOWN,      // so was an error: a modern server does not know the method
  MCP_REFUSED,      // so was an error: it is not a modern request, or its headers say something else
};

void mcp_init(struct mcp *m, enum mcp_era era, unsigned tool_count);

// Handles one message; appends the answer to out, without a newline. headers: NULL when there are none, as on stdio.
enum mcp_answer mcp_handle(const struct mcp *m, const struct mcp_headers *headers, str message, struct buf *out);
