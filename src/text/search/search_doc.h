// SPDX-License-Identifier: Apache-2.0
// The searchable text of an MCP tool definition.
#pragma once
#include "text/search/search.h"
#include "json/json.h"

// Fills all fields but id from the members name, title (or annotations.title), description, tags and inputSchema, whose
// properties are followed down to a few levels. Members that are missing or of another type give empty fields. Text
// lives in the arena or is the source of `tool` itself.
void search_doc_from_tool(const struct json *tool, struct arena *a, struct search_doc *out);
