// SPDX-License-Identifier: Apache-2.0
// Wraps results of any type for clients that support objects only: a result r becomes {"result": r}, and its schema
// changes accordingly.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// Returns whether results with this schema must be wrapped. Returns false if the schema has {"type": "object"} at its
// root, or if `schema` is not a schema.
bool wrap_needed(const struct json *schema);

// Returns the schema of {"result": r}, given the schema of r. References in the schema that begin at the root (#) are
// changed to the new place of the schema. Allocates in the arena.
str wrap_schema(const struct json *schema, struct arena *a);
