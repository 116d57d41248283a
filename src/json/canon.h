// SPDX-License-Identifier: Apache-2.0
// Canonical forms: the same value always gives the same bytes.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum json_canon {
  JSON_CANON_JCS,     // RFC 8785: keys by UTF-16 code units, ECMAScript numbers
  JSON_CANON_PYTHON,  // json.dumps(v, sort_keys=True, separators=(",", ":")), ensure_ascii: keys by code point,
                      // integers exact, floats by repr, \uXXXX above ASCII
  JSON_CANON_EXACT,   // keys by code point, numbers as they are written: what differs in any digit stays different
};

// False when the value has no such form (a number outside the doubles for JCS); f says why.
bool json_canon(struct buf *out, const struct json *v, enum json_canon form, struct fault *f);
