// SPDX-License-Identifier: Apache-2.0
// Member names as JSON decoders that ignore case read them. For example, encoding/json of Go reads "Name" and "NAME" as
// "name", and treats the long s (U+017F) and the Kelvin sign (U+212A) as s and k. Decoders with C strings end a name at
// a NUL.
#pragma once
#include "base/str.h"

// Returns the first character of `s`, which must not be empty, in lower case. Sets *n to its length in bytes.
char fold_char(str s, size_t *n);

// Returns whether such a decoder may read both names as the same name.
bool fold_same(str a, str b);
