// SPDX-License-Identifier: Apache-2.0
// The revisions of MCP, as rows of rules. Code asks a rule of the revision; it never compares names.
#pragma once
#include "base/str.h"

struct mcp_revision {
  const char *name;
  bool batches;         // arrays of messages are accepted
  bool version_header;  // MCP-Protocol-Version follows the handshake on HTTP
  bool sse_priming;     // a stream opens with an event of an id and no data, and may be polled
  bool tasks;           // of the core protocol, not of the extension
  bool stateless;       // no handshake and no sessions: every request says who asks and in which revision
};

// Oldest first.
extern const struct mcp_revision mcp_revisions[];
extern const size_t mcp_revision_count;

const struct mcp_revision *mcp_revision_find(str name);   // NULL when we do not speak it
const struct mcp_revision *mcp_revision_latest(void);     // the newest with a handshake
const struct mcp_revision *mcp_revision_stateless(void);  // the newest without

// What a server answers to a client whose handshake asks for `name`: the same when we speak it, else our latest.
const struct mcp_revision *mcp_revision_negotiate(str name);

// For HTTP requests that do not say.
const struct mcp_revision *mcp_revision_unstated(void);

// "2024-11-05, 2025-03-26, …" for messages.
extern const char mcp_revision_names[];
