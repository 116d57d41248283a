// SPDX-License-Identifier: Apache-2.0
// Compares resource URIs and URI templates.
//
// A key is the normal form of a URI (RFC 3986 §6): all spellings of a URI have the same key. Scheme and host are in
// lower case, without a dot after the host and without the default port. Escapes that are not necessary are decoded;
// necessary escapes are in upper case. "." and ".." segments are resolved. White space around the URI, and tabs and
// line ends in it, are removed. Other bytes that a URI must not contain are escaped.
//
// The key of a template (RFC 6570) has one byte for each expression: URI_SEGMENT for {x}, which matches any text
// without "/", and URI_ANYTHING for {+x}, {?x} and the other expressions, which match any text.
#pragma once
#include "base/arena.h"

enum { URI_BYTES_MAX = 256 << 10 };  // maximum length of a URI from a client, unless a server lists it

#define URI_SEGMENT '\x01'
#define URI_ANYTHING '\x02'

// Returns the key of a URI, which is the URI itself if it is in normal form.
str uri_key(struct arena *a, str uri);
str uri_template_key(struct arena *a, str template_);

// Returns the part of a URI that corresponds to its key without the first `n` bytes. These bytes of the key must be
// part of the scheme.
str uri_after(str uri, size_t n);

// Returns whether one URI can match both keys. Each key is that of a URI or of a template. Subtracts the number of
// steps from *steps; this number is at most about the product of the lengths. If *steps is too small, sets it to 0 and
// returns true.
bool uri_meets(str key, str other, size_t *steps);
