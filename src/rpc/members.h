// SPDX-License-Identifier: Apache-2.0
// Member names of the protocol's objects, and members that only look like them.
//
// Some JSON decoders ignore case: encoding/json of Go reads "Name" and "NAME" as "name", and folds the long s (U+017F)
// and the Kelvin sign (U+212A) as well. Such a server would act on a member that the gateway did not look at. So an
// object of the protocol may not have a member whose name folds to a known name without being exactly that name.
//
// The table in members.c has every object that the gateway reads or that a peer decides by. Objects that belong to a
// tool, a form or a vendor are free and are not looked into: `arguments`, `structuredContent`, schemas, `metadata`.
#pragma once
#include "base/buf.h"
#include "json/json.h"

// Objects of the protocol, each with its own set of names.
enum members_of {
  MEMBERS_FREE,  // anything
  MEMBERS_ENVELOPE,
  MEMBERS_PARAMS,
  MEMBERS_RESULT,
  MEMBERS_ERROR,
  MEMBERS_REST,  // the number of the first object that only members.c names; its own enum continues here
};

struct members_found {
  bool disguised;  // a name that folds to a known one
  bool reserved;   // a _meta key that only the gateway may write, or that does not belong in that object
};

// Looks through a value and the objects of the protocol within. An array is looked through as its elements.
struct members_found members_check(const struct json *v, enum members_of what, struct arena *a);

// Is this name, unescaped, one of that object? Does it fold to one without being it?
bool members_known(str name, enum members_of what);
bool members_disguised(str name, enum members_of what);

// Copies a value without its reserved _meta keys.
void members_put_unreserved(struct buf *out, const struct json *v, enum members_of what, struct arena *a);
