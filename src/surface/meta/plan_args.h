// SPDX-License-Identifier: Apache-2.0
// Validates the arguments of a step of a plan against the input schema of its tool. Arguments that are not known yet
// may be missing: unless the arguments are complete, an error counts only if further members cannot correct it.
#pragma once
#include "catalog/catalog.h"
#include "schema/schema.h"

struct surface;

struct plan_args {
  const char *code;  // NULL: the arguments are valid; otherwise ARGS_INVALID or SCHEMA_INVALID
  struct fault fault;
  struct schema_error *errors;  // in the scratch arena of the surface
  size_t count;
};

// `args` is NULL if the step has no arguments. `partial` is false if the arguments are complete.
void plan_args_check(struct surface *d, str server, const struct item *tool, const struct json *args, bool partial,
                     struct plan_args *out);
