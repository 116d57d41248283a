// SPDX-License-Identifier: Apache-2.0
// The revisions of MCP and the rules of each. Other code uses these rules and never compares the names of revisions.
#pragma once
#include "base/str.h"

struct mcp_revision {
  const char *name;
  bool batches;         // arrays of messages are accepted
  bool version_header;  // HTTP requests after the handshake have the header MCP-Protocol-Version
  bool sse_priming;     // a stream starts with an event without data, and the client may poll for the answer
  bool tasks;           // tasks are part of the core protocol, not of the extension
  bool stateless;       // no handshake and no sessions: every request names its client and its revision
};

// Oldest first.
extern const struct mcp_revision mcp_revisions[];
extern const size_t mcp_revision_count;

const struct mcp_revision *mcp_revision_find(str name);   // NULL if unsupported
const struct mcp_revision *mcp_revision_latest(void);     // the newest revision with a handshake
const struct mcp_revision *mcp_revision_stateless(void);  // the newest revision without a handshake

// Returns the revision to offer in the answer to a handshake: the requested revision `name` if supported, else the
// latest.
const struct mcp_revision *mcp_revision_negotiate(str name);

// Returns the revision of HTTP requests that do not name one.
const struct mcp_revision *mcp_revision_unstated(void);

// Names of all revisions, for messages: "2024-11-05, 2025-03-26, …".
extern const char mcp_revision_names[];
