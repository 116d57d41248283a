// SPDX-License-Identifier: Apache-2.0
// Describes the tools of a server as capabilities of a governance file: suggested class and mode, and hashes of the
// schemas.
#pragma once
#include "catalog/directory/directory.h"
#include "govern/mode.h"

struct adapter_tool {
  str name;                         // the server's own name of the tool
  bool usable;                      // the name is valid in a governance file
  enum capability_class class;      // suggested by the hints of the server, which are unverified
  enum approval_mode mode;          // also suggested by the hints
  str input_schema, output_schema;  // hashes, "sha256:HEX"; STR_NONE if a schema is absent or has no canonical form
};

// Returns the tools of one source of the catalog, in the order of the catalog. Allocates in the arena.
struct adapter_tool *adapter_tools(const struct directory *d, unsigned source, struct arena *a, size_t *out_count);
