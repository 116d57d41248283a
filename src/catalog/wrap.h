// SPDX-License-Identifier: Apache-2.0
// Wraps results of any type for clients that support objects only: a result r becomes {"result": r}, and its schema
// changes accordingly.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// Returns whether results must be wrapped. This is not necessary if the schema has {"type": "object"} at its root.
// Returns false if `schema` is not a schema.
bool wrap_needed(const struct json *schema);

// Returns the schema of {"result": r}, given the schema of r. Changes references to the root. Allocates in the arena.
str wrap_schema(const struct json *schema, struct arena *a);
