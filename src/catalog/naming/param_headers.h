// SPDX-License-Identifier: Apache-2.0
// Arguments of a tool that are repeated in HTTP headers. The properties of these arguments in the tool's inputSchema
// have "x-mcp-header".
#pragma once
#include "base/arena.h"
#include "json/json.h"

struct param_header {
  str name;   // the header is Mcp-Param-{name}
  str *path;  // unescaped keys on the way from the arguments to the value
  size_t depth;
};

struct param_headers {
  struct param_header *list;
  size_t count;
};

// Reads the declarations in a tool's definition into the arena; there may be none. Each declaration must be on a
// property under "properties" (not in an array or another subschema) of type string, integer or boolean; the header
// name must be valid and unique. Otherwise returns false, with the broken rule in *why, and the tool cannot be called
// over HTTP.
bool param_headers_read(const struct json *definition, struct arena *a, struct param_headers *out, const char **why);

// Returns the value of the argument that belongs to a header. Returns NULL if the value is absent, null, an array or an
// object.
const struct json *param_header_value(const struct param_header *m, const struct json *arguments);

// Writes the text of the header: a string as it is, an integer in decimal, true or false. Returns false for a number
// that is not an integer within ±(2^53 − 1).
bool param_header_text(const struct json *value, struct arena *a, str *out);
