// SPDX-License-Identifier: Apache-2.0
// Checks the member names of protocol objects: finds names that are not protocol names but that another decoder may
// read as protocol names.
//
// Some JSON decoders ignore case. For example, encoding/json of Go reads "Name" and "NAME" as "name", and treats the
// long s (U+017F) and the Kelvin sign (U+212A) as s and k. A server with such a decoder would use a member that the
// gateway has not checked. So a protocol object must not have a disguised name: one that differs from every known name,
// but that another decoder may read as a known name.
//
// The table in members.c lists every kind of object that the gateway reads or that changes what a peer does. Objects
// that a tool, a form or a vendor defines are not checked: `arguments`, `structuredContent`, schemas, `metadata`.
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
  MEMBERS_REST,  // members.c continues with further kinds from this number
};

struct members_found {
  bool disguised;  // another decoder may read an unknown member name as a known one
  bool reserved;   // a _meta key is reserved for the gateway or for another kind of object
};

// Checks a value of kind `what` and the protocol objects inside it. If the value is an array, checks its elements.
struct members_found members_check(const struct json *v, enum members_of what, struct arena *a);

// Returns whether `name` (unescaped) is a known member of this kind of protocol object.
bool members_known(str name, enum members_of what);
// Returns whether `name` is disguised as a known member of this kind of protocol object.
bool members_disguised(str name, enum members_of what);

// Copies a value without its reserved _meta keys.
void members_put_unreserved(struct buf *out, const struct json *v, enum members_of what, struct arena *a);
