// SPDX-License-Identifier: Apache-2.0
// References between schemas: RFC 3986, as far as names of documents need it.
#pragma once
#include "base/arena.h"

// Cuts off the fragment; *out_fragment is STR_NONE when there is none.
str uri_without_fragment(str uri, str *out_fragment);

// A reference without fragment, as seen from an absolute base (or from "", where it stays as it is).
str uri_resolve(struct arena *a, str base, str reference);

// With %XX replaced; false when one is malformed.
bool uri_decode(struct arena *a, str text, str *out);

// The length of the scheme in front of the first colon; 0 when there is none.
size_t uri_scheme(str uri);
