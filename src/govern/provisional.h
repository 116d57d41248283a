// SPDX-License-Identifier: Apache-2.0
// Provisional capabilities: tools that no adapter lists, if `unlisted_servers` or `unlisted_tools` in the context of
// the governance file is `provisional`. Their class and mode follow the hints of their server: observe for a tool that
// only reads, otherwise act and destructive. They need no permission, but all other steps of a decision apply to them.
#pragma once
#include "govern/govern.h"
#include "govern/hints.h"

// Notes that a server has a tool with these hints, so that governance_find_tool finds it. Does nothing for a tool that
// an adapter lists. At most 10 000 tools are noted; further tools stay unknown.
void governance_note_tool(const struct governance *g, str server, str tool, struct tool_hints hints);

// Returns whether tools of this server that no adapter lists can be provisional capabilities.
bool governance_is_provisional(const struct governance *g, str server);
