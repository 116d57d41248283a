// SPDX-License-Identifier: Apache-2.0
// Extracts the searchable text of an MCP tool definition.
#pragma once
#include "text/search/search.h"
#include "json/json.h"

// Fills all fields except id from the members name, title (or annotations.title), description, tags and inputSchema.
// Properties of inputSchema are read down to a few levels. A member that is missing or has a wrong type gives an empty
// field. The text is in the arena or in the source of `tool`.
void search_doc_from_tool(const struct json *tool, struct arena *a, struct search_doc *out);
