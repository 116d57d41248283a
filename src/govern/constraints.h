// SPDX-License-Identifier: Apache-2.0
// Constraints on the arguments of a call (arg_constraints), for permissions and rules.
//
//   {"amount": {"required": true, "min": 1, "max": 50000}, "items[0].sku": {"pattern": "[A-Z]{3}-[0-9]+"}}
//
// A key is an argument or a path into one. The keywords of an argument: required, min, max, enum, const, pattern,
// minLength, maxLength, maxItems, format, unless_approved. Types are strict ("5" is not 5); numbers compare exactly.
// A missing argument or null violates `required` and nothing else. A pattern must match the whole value.
#pragma once
#include "json/json.h"

// Receives each error in a governance file. pointer: a JSON Pointer into the document.
typedef void governance_problem(void *ctx, str pointer, const char *message);

enum { CONSTRAINT_TEXT_MAX = 4096 };  // bytes of a pattern, and of a value that it can match

struct constraint;

struct constraints {
  const struct constraint *list;  // as in the file
  size_t count;
};

// Compiles constraints into the arena. `source` must live as long as the arena. `pointer` is its place in the document.
// False, after at least one problem, if one is malformed.
bool constraints_read(struct arena *a, const struct json *source, str pointer, governance_problem *problem, void *ctx,
                      struct constraints *out);

struct violation {
  struct violation *next;
  str path;                // the key of the constraint
  const char *constraint;  // the violated keyword; "type" for a value of another type than the keyword needs
  str pointer;             // place of the argument's constraints in the document
  bool waivable;           // unless_approved: an approval may stand in
};

struct violations {
  struct violation *first, *last;
};

// Appends every violation to *out: arguments in the order of the file, `type` first, then keywords as in the file.
// `args`: an object, or NULL without arguments. `partial`: arguments may still be unknown, so none is missing.
void constraints_check(const struct constraints *c, const struct json *args, bool partial, struct arena *scratch,
                       struct violations *out);
