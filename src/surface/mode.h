// SPDX-License-Identifier: Apache-2.0
// Modes: the form in which a client sees the catalog. A session has one mode; /mcp/NAME selects it.
#pragma once

enum surface_mode {
  MODE_GATEWAY,      // three meta-tools that find, call and view
  MODE_TRANSPARENT,  // every tool without its schema, and meta-tools that return the schema and call
  MODE_DIRECT,       // every definition unchanged
  MODE_SERVERS,      // three meta-tools that list servers, show their tools and call them
};

enum { MODE_COUNT = 4 };

extern const char *const mode_names[MODE_COUNT];
