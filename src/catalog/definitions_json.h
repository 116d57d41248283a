// SPDX-License-Identifier: Apache-2.0
// Writes and reads definitions as JSON, for the definition cache and for commands that read the catalog of a running
// gateway.
#pragma once
#include "catalog/definitions.h"
#include "json/write.h"

// Writes the members "origin" and "lists" into an object that the caller has begun. Each list has the form of a result
// of its list method, such as tools/list. `serves` selects the tools to write; NULL selects all tools.
void definitions_put(struct json_writer *w, const struct definitions *r, bool (*serves)(const void *ctx, str tool),
                     const void *ctx);

// Reads an object with the members that definitions_put writes. Returns NULL if the object is incomplete.
struct definitions *definitions_read(const struct json *v);
