// SPDX-License-Identifier: Apache-2.0
// Templates: JSON values with expressions. An object whose only member is named like a JsonLogic operator is an
// expression, which is replaced by its result; all other values stay as they are. {"var": "input.order"} copies the
// value exactly, even a number that a double cannot hold.
#pragma once
#include "govern/logic.h"

// Returns whether all expressions of a template compile. Otherwise `f` has the reason and, as its path, the JSON
// Pointer relative to the template.
bool template_check(const struct json *template, struct arena *scratch, struct fault *f);

// Writes the value of a template. Returns false, with the reason in *out_why, if an expression fails.
bool template_put(const struct json *template, const struct json *data, struct arena *scratch,
                  struct logic_budget *budget, struct json_writer *w, const char **out_why);
