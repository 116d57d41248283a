// SPDX-License-Identifier: Apache-2.0
// Results of any kind for clients that know objects only: a result r goes as {"result": r}, and its schema likewise.
#pragma once
#include "base/arena.h"
#include "json/json.h"

// Is a wrapped result needed? Not when the schema says {"type": "object"} at its root, nor for what is no schema.
bool wrap_needed(const struct json *schema);

// The text of the schema of {"result": r}, in the arena, from that of r. References from its root on are moved along.
str wrap_schema(const struct json *schema, struct arena *a);
