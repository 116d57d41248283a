// SPDX-License-Identifier: Apache-2.0
// The tools of a server as capabilities of a governance file: suggested class and mode, and pins of the schemas.
#pragma once
#include "catalog/directory/directory.h"
#include "govern/mode.h"

struct adapter_tool {
  str name;                         // the server's name for it
  bool usable;                      // a governance file can have this name
  enum capability_class class;      // suggested by the hints of the server, which are unverified
  enum approval_mode mode;          // the same
  str input_schema, output_schema;  // pins, "sha256:HEX"; STR_NONE without a schema that has a canonical form
};

// Returns the tools of a source of the catalog, in the order of the catalog. All in the arena.
struct adapter_tool *adapter_tools(const struct directory *d, unsigned source, struct arena *a, size_t *out_count);
