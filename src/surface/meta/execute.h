// SPDX-License-Identifier: Apache-2.0
// The meta-tools tool_execute, tool_hydrate, resource_read and prompt_get. If a meta-tool calls a server, its request
// is rewritten into a request for that server, such as tools/call with the tool's own name, and then handled like every
// call. _meta, inputResponses and requestState stay unchanged.
#pragma once
#include "call/calls.h"
#include "catalog/directory/directory.h"
#include "surface/meta/meta_tools.h"

meta_tool meta_tool_execute, meta_tool_hydrate, meta_resource_read, meta_prompt_get;

// Used in transparent mode: calls a tool by its listed name, as tool_execute does by an id. Returns false if the name
// is unknown.
bool meta_call_by_id(struct surface *d, struct request *r);

// Calls the tool with this id, as tool_execute does. `args` is raw JSON.
void meta_execute_id(struct surface *d, struct request *r, str id, str args);

// Finds the entry with this id, and records the entry in the audit log. If there is no such entry, refuses the request
// and returns NULL.
const struct entry *meta_lookup(struct surface *d, struct request *r, enum directory_kind kind, str id);

// Rewrites the request of a meta-tool into a request of `method` for `target`. `args` is raw JSON or STR_NONE.
void meta_rewrite(struct request *r, const struct call_method *method, str target, str args);

// Returns whether `args` can be the arguments of a tool: absent, an object or, if tolerant_args is set, a string.
bool meta_takes_args(const struct surface *d, const struct json *args);
str meta_args_text(const struct json *v);  // returns the arguments of a tool as raw JSON

// Reads the argument max_tokens. Sets *out to 0 if the argument is absent. Returns false if the argument is not a whole
// number above 0.
bool meta_max_tokens(const struct request *r, size_t *out);
