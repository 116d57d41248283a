// SPDX-License-Identifier: Apache-2.0
// Methods of the protocol: which notifications a peer may send, and which method names MCP does not have.
#pragma once
#include "mcp/revision.h"

// Returns whether MCP has no such method and no server could mistake the name for one of MCP. Ignoring case and
// surrounding slashes, a name is not foreign if it equals a method of MCP or begins like a group of methods ("tools/").
// An empty name, and a name with a blank or a byte outside printable ASCII, is also not foreign.
bool method_is_foreign(str method);

// Returns whether a client (by_client is true) or a server may send this notification in this revision.
bool method_may_notify(str method, bool by_client, const struct mcp_revision *revision);
