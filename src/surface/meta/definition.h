// SPDX-License-Identifier: Apache-2.0
// The full definition of one tool, resource or prompt, for tool_browse with tool_id and the other browse tools:
//
//   {"tool_id", "description", "args_schema", "output_schema"?, "pruned"?}
//
// It has at most gateway.definition_budget tokens. A larger one is pruned in steps until it fits; "pruned" says what is
// missing. The details of ARGS_INVALID are never pruned: they hold the schema of the failing part.
#pragma once
#include "catalog/directory/directory.h"
#include "mcp/server/session.h"

struct surface;

// Answers the request with the definition of the entry that an id names, or refuses it.
void meta_define(struct surface *d, struct request *r, enum directory_kind kind, str id);
