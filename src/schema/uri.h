// SPDX-License-Identifier: Apache-2.0
// Resolves references between documents (RFC 3986).
#pragma once
#include "base/arena.h"

// Returns the URI without its fragment; *out_fragment is STR_NONE if it has no fragment.
str uri_without_fragment(str uri, str *out_fragment);

// Resolves a reference without fragment against an absolute base; against "", the reference stays unchanged.
str uri_resolve(struct arena *a, str base, str reference);

// Decodes %XX; returns false if an escape is malformed.
bool uri_decode(struct arena *a, str text, str *out);

// Returns the length of the scheme, without its colon; 0 if it has no scheme.
size_t uri_scheme(str uri);
