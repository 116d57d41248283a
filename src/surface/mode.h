// SPDX-License-Identifier: Apache-2.0
// What a client sees: the modes, which are the faces of sessions (mcp/server/session.h) and the names in /mcp/NAME.
#pragma once

enum surface_mode {
  MODE_GATEWAY,      // three meta-tools that find, call and view
  MODE_TRANSPARENT,  // every tool without its schema, and meta-tools that give the schema and call
  MODE_DIRECT,       // everything, as it is
  MODE_SERVERS,      // three meta-tools that name servers, show their tools and call them
};

enum { MODE_COUNT = 4 };

extern const char *const mode_names[MODE_COUNT];
