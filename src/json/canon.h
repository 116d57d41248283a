// SPDX-License-Identifier: Apache-2.0
// Canonical JSON: equal values give equal bytes.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum json_canon {
  JSON_CANON_JCS,  // RFC 8785: sorts keys by UTF-16 code units and writes numbers like ECMAScript
  // Like Python's json.dumps(v, sort_keys=True, separators=(",", ":")): sorts keys by code point, writes integers
  // exactly, floats by repr, and characters above ASCII as \uXXXX.
  JSON_CANON_PYTHON,
  JSON_CANON_EXACT,  // sorts keys by code point and copies numbers unchanged: 1.0 and 1.00 stay different
};

// Appends the canonical form of `v`. Returns false if `v` has no canonical form, because a number exceeds the range of
// a double (JCS and Python only); the reason is in `f`.
bool json_canon(struct buf *out, const struct json *v, enum json_canon form, struct fault *f);
