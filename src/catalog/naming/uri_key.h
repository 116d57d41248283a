// SPDX-License-Identifier: Apache-2.0
// Comparison of resource URIs and URI templates.
//
// A key is the normal form of a URI (RFC 3986 §6): all spellings of one URI have the same key. The scheme and the host
// are in lower case, without the dot after a host and without the default port; escapes are decoded where they need not
// be, and are in upper case elsewhere; "." and ".." segments are resolved; white space around the URI and tabs and line
// ends in it are removed; other bytes that no URI may hold are escaped.
//
// The key of a template (RFC 6570) has one byte for each expression: URI_SEGMENT for {x}, which stands for any text
// without "/", and URI_ANYTHING for {+x}, {?x} and the others, which stand for any text.
#pragma once
#include "base/arena.h"

enum { URI_BYTES_MAX = 256 << 10 };  // of a URI that a client names, unless a server lists it

#define URI_SEGMENT '\x01'
#define URI_ANYTHING '\x02'

// Returns the URI itself if it is its own key.
str uri_key(struct arena *a, str uri);
str uri_template_key(struct arena *a, str template_);

// Returns the part of a URI that follows the first n bytes of its key, which are part of the scheme.
str uri_after(str uri, size_t n);

// Returns whether some URI fits both keys: whether a template matches a URI, or two templates overlap. Costs at most
// about the product of the lengths, which is taken from *steps. If that is not enough, sets *steps to 0 and returns
// true.
bool uri_meets(str key, str other, size_t *steps);
