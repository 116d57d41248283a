// SPDX-License-Identifier: Apache-2.0
// Results of any type for clients that support objects only: a result r becomes {"result": r}, and so does its schema.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// Returns whether a result must be wrapped: not if the schema has {"type": "object"} at its root, or is not a schema.
bool wrap_needed(const struct json *schema);

// Returns the schema of {"result": r} from that of r, in the arena. References to its root are adjusted.
str wrap_schema(const struct json *schema, struct arena *a);
