// SPDX-License-Identifier: Apache-2.0
// Methods of the protocol: which notifications a peer may send, and which method names do not belong to MCP.
#pragma once
#include "mcp/revision.h"

// Returns whether `method` is certainly not a method of MCP. Returns false if it equals a method of MCP or begins like
// a group of methods ("tools/"), ignoring case and surrounding slashes. Also returns false if it is empty, or contains
// a blank or a byte outside printable ASCII.
bool method_is_foreign(str method);

// Returns whether a client (by_client is true) or a server may send this notification in this revision.
bool method_may_notify(str method, bool by_client, const struct mcp_revision *revision);
