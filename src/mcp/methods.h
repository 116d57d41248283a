// SPDX-License-Identifier: Apache-2.0
// Methods of the protocol: which notifications a peer may send, and which method names MCP does not have.
#pragma once
#include "mcp/revision.h"

// Returns whether the protocol has no such method and no server could mistake it for one. Ignoring case and surrounding
// slashes, a method is not foreign if it equals one of the protocol or begins like a group of them ("tools/"). An empty
// name, or one with a blank or bytes other than printable ASCII, is not foreign, either.
bool method_is_foreign(str method);

// Returns whether a client, or a server, may send this notification in that revision.
bool method_may_notify(str method, bool by_client, const struct mcp_revision *revision);
