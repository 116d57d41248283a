// SPDX-License-Identifier: Apache-2.0
// Methods of the protocol: notifications that a peer may send, and method names that MCP does not have.
#pragma once
#include "mcp/revision.h"

// Returns whether the protocol has no such method and no server could take it for one. Not foreign are a method that
// equals one of the protocol, or begins like a group of them ("tools/"), when case and slashes around it are ignored,
// and a name that is empty or has bytes other than printable ASCII without the blank.
bool method_is_foreign(str method);

// Returns whether a client, or a server, may send this notification in that revision.
bool method_may_notify(str method, bool by_client, const struct mcp_revision *revision);
