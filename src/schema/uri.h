// SPDX-License-Identifier: Apache-2.0
// Resolves references between documents (RFC 3986).
#pragma once
#include "base/arena.h"

// Returns the URI without its fragment. Sets *out_fragment to STR_NONE if there is no fragment.
str uri_without_fragment(str uri, str *out_fragment);

// Resolves a reference without fragment against an absolute base. If `base` is empty, returns the reference unchanged.
str uri_resolve(struct arena *a, str base, str reference);

// Decodes %XX escapes. Returns false if an escape is malformed.
bool uri_decode(struct arena *a, str text, str *out);

// Returns the length of the scheme, without its colon, or 0 if there is no scheme.
size_t uri_scheme(str uri);
