// SPDX-License-Identifier: Apache-2.0
// Canonical JSON: equal values give equal bytes.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum json_canon {
  JSON_CANON_JCS,     // RFC 8785: keys by UTF-16 code units, ECMAScript numbers
  JSON_CANON_PYTHON,  // json.dumps(v, sort_keys=True, separators=(",", ":")), ensure_ascii: keys by code point,
                      // integers exact, floats by repr, \uXXXX above ASCII
  JSON_CANON_EXACT,   // keys by code point, numbers as written: numbers that differ in a digit stay different
};

// Appends the canonical form. False if the value has none (a number beyond doubles in JCS or Python); f says why.
bool json_canon(struct buf *out, const struct json *v, enum json_canon form, struct fault *f);
