// SPDX-License-Identifier: Apache-2.0
// Methods of the protocol: which notifications a peer may send, and which methods belong to nobody.
#pragma once
#include "mcp/revision.h"

// Is this neither a method of the protocol nor one that a server could take for one? Case, blanks and slashes around it
// do not make a method foreign.
bool method_is_foreign(str method);

// May a client, or a server, send this notification in that revision?
bool method_may_notify(str method, bool by_client, const struct mcp_revision *revision);
