// SPDX-License-Identifier: Apache-2.0
// Constraints on the arguments of a call, for permissions and rules of a governance file (arg_constraints).
//
//   {"amount": {"required": true, "min": 1, "max": 50000}, "items[0].sku": {"pattern": "[A-Z]{3}-[0-9]+"}}
//
// Each key names an argument, or a value inside an argument by its path. An argument whose own name is such a path
// ("page.size") must satisfy the constraint, too. The keywords are required, min, max, enum,
// const, pattern, minLength, maxLength, maxItems, format and unless_approved. Types are strict: "5" is not 5. Numbers
// compare exactly. An argument that is missing or null violates only `required`. A pattern must match the whole value.
#pragma once
#include "json/json.h"

// Receives each error in a governance file. `pointer` is the JSON Pointer of the wrong value.
typedef void governance_problem(void *ctx, str pointer, const char *message);

enum { CONSTRAINT_TEXT_MAX = 4096 };  // maximum bytes of a pattern, and of a value to match

struct constraint;

struct constraints {
  const struct constraint *list;  // in the order of the file
  size_t count;
};

// Compiles constraints into the arena. `source` must live as long as the arena. `pointer` is the place of `source` in
// the document. If a constraint is invalid, reports each error to `problem` and returns false.
bool constraints_read(struct arena *a, const struct json *source, str pointer, governance_problem *problem, void *ctx,
                      struct constraints *out);

str constraints_path(const struct constraints *c, size_t index);  // the key of a constraint, such as "items[0].sku"
// Returns whether there is a constraint for the argument `name`.
bool constraints_name(const struct constraints *c, str name);

struct violation {
  struct violation *next;
  str path;                // the key in arg_constraints
  const char *constraint;  // violated keyword; "type" if the value's type is not the one that a keyword needs
  str pointer;             // place of the argument's constraints in the document
  bool waivable;           // unless_approved: allowed if a person approves the call
};

struct violations {
  struct violation *first, *last;
};

// The work that the constraint checks of one decision may still do. A check that needs more counts as a violation.
struct constraints_budget {
  size_t steps;  // number of steps for matching patterns
  size_t bytes;  // bytes of arguments; an argument counts once for each constraint on it
};
enum { CONSTRAINTS_STEPS = 1 << 20, CONSTRAINTS_BYTES = 32 << 20 };

// Appends every violation to *out, in the order of the file; for each argument, "type" comes first. `args` must be an
// object or NULL. If `partial` is set, `required` is not checked, because some arguments are not known yet.
void constraints_check(const struct constraints *c, const struct json *args, bool partial, struct arena *scratch,
                       struct constraints_budget *budget, struct violations *out);
