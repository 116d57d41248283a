// SPDX-License-Identifier: Apache-2.0
// Returns the full definition of one tool, resource or prompt, for tool_browse with tool_id, and for resource_browse
// and prompt_browse with an id:
//
//   {"tool_id", "description", "args_schema", "output_schema"?, "pruned"?}
//
// A definition has at most gateway.definition_budget tokens. A larger definition is pruned in steps until it fits;
// "pruned" lists the missing parts. Pruning does not affect the details of the fault ARGS_INVALID. These details quote
// the part of the original input schema that explains the errors, up to 16 KiB (step_schema.c).
#pragma once
#include "catalog/directory/directory.h"
#include "mcp/server/session.h"

struct surface;

// Answers the request with the definition of the entry with this id, or with a fault.
void meta_define(struct surface *d, struct request *r, enum directory_kind kind, str id);
