// SPDX-License-Identifier: Apache-2.0
// Wraps results of any type for clients that support objects only: a result r becomes {"result": r}, and its schema
// changes accordingly.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// Returns whether a result must be wrapped: true unless the schema has {"type": "object"} at its root or is not a
// schema.
bool wrap_needed(const struct json *schema);

// Returns the schema of {"result": r} for the schema of r, allocated in the arena. Adjusts references to the root.
str wrap_schema(const struct json *schema, struct arena *a);
