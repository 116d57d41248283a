// SPDX-License-Identifier: Apache-2.0
// Checks the member names of protocol objects, and finds names that only look like protocol names.
//
// Some JSON decoders ignore case: encoding/json of Go reads "Name" and "NAME" as "name", and also folds the long s
// (U+017F) and the Kelvin sign (U+212A). A server with such a decoder would act on a member that the gateway did not
// check. So a protocol object must not have a member whose name folds to a known name but differs from it.
//
// The table in members.c lists every kind of object that the gateway reads or that affects a peer. Objects that a tool,
// a form or a vendor defines are not checked: `arguments`, `structuredContent`, schemas, `metadata`.
#pragma once
#include "base/buf.h"
#include "json/json.h"

// Kinds of protocol objects, each with its own set of names.
enum members_of {
  MEMBERS_FREE,  // not checked
  MEMBERS_ENVELOPE,
  MEMBERS_PARAMS,
  MEMBERS_RESULT,
  MEMBERS_ERROR,
  MEMBERS_REST,  // first number of the enum in members.c
};

struct members_found {
  bool disguised;  // a name folds to a known name but differs from it
  bool reserved;   // a _meta key is reserved for the gateway or for other objects
};

// Checks a value of kind `what` and the protocol objects inside it. For an array, checks its elements.
struct members_found members_check(const struct json *v, enum members_of what, struct arena *a);

// Returns whether `name` (unescaped) is a known member of this kind of protocol object.
bool members_known(str name, enum members_of what);
// Returns whether `name` folds to a known member of this kind of protocol object but differs from it.
bool members_disguised(str name, enum members_of what);

// Copies a value without its reserved _meta keys.
void members_put_unreserved(struct buf *out, const struct json *v, enum members_of what, struct arena *a);
