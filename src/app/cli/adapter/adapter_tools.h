// SPDX-License-Identifier: Apache-2.0
// Describes a server and its tools as an adapter of a governance file: versions, suggested classes and modes, hashes of
// the schemas.
#pragma once
#include "app/gateway_client/inventory.h"
#include "catalog/directory/directory.h"
#include "govern/hints.h"

struct adapter_tool {
  str name;     // the server's own name of the tool
  bool usable;  // the name is valid in a governance file
  struct tool_hints hints;
  enum capability_class class;      // suggested by the hints
  enum approval_mode mode;          // also suggested by the hints
  str input_schema, output_schema;  // hashes, "sha256:HEX"; STR_NONE if a schema is absent or has no canonical form
};

// The versions of a server that an adapter can pin; STR_NONE if unknown. A server inside this process has none, because
// it does not use MCP.
struct adapter_live {
  str version, protocol, protocol_version, transport;
};
struct adapter_live adapter_live(const struct config *c, const struct inventory_server *s);

// Returns the tools of one source of the catalog, in the order of the catalog. Allocates in the arena.
struct adapter_tool *adapter_tools(const struct directory *d, unsigned source, struct arena *a, size_t *out_count);
