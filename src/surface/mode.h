// SPDX-License-Identifier: Apache-2.0
// A mode is the form in which a client sees the catalog. A session has one mode; the client selects it by the path
// /mcp/NAME.
#pragma once

enum surface_mode {
  MODE_GATEWAY,      // three meta-tools: find tools, call them, view results
  MODE_TRANSPARENT,  // every tool without its schema, and meta-tools that return schemas and call tools
  MODE_DIRECT,       // every definition unchanged
  MODE_SERVERS,      // three meta-tools: list servers, show their tools, call them
};

enum { MODE_COUNT = 4 };

extern const char *const mode_names[MODE_COUNT];
