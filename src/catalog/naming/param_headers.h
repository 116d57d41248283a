// SPDX-License-Identifier: Apache-2.0
// Arguments that a tool wants repeated in HTTP headers: properties of its inputSchema with "x-mcp-header".
#pragma once
#include "base/arena.h"
#include "json/json.h"

struct param_header {
  str name;   // the header is Mcp-Param-{name}
  str *path;  // unescaped keys that lead from the arguments to the value
  size_t depth;
};

struct param_headers {
  struct param_header *list;
  size_t count;
};

// Reads the declarations of a tool's definition into the arena; there may be none. Returns false if one breaks a rule
// (the name is not a header token or occurs twice; the type is not string, integer or boolean; the place is not reached
// through "properties" only). Then *why names the rule, and the tool cannot be called over HTTP.
bool param_headers_read(const struct json *definition, struct arena *a, struct param_headers *out, const char **why);

// Returns the value in a call's arguments. Returns NULL if the value is absent, null, or of a type that a header cannot
// have.
const struct json *param_header_value(const struct param_header *m, const struct json *arguments);

// Writes the header's text for a value: a string's text, an integer in decimal, true or false. Returns false for a
// number that is not an integer within ±(2^53 − 1).
bool param_header_text(const struct json *value, struct arena *a, str *out);
