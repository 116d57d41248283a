// SPDX-License-Identifier: Apache-2.0
// Fast search for bytes in a text.
#pragma once
#include "base/str.h"

// Returns the first occurrence of `needle`, which must not be empty, between p and end, or NULL if `needle` does not
// occur.
const char *find_bytes(const char *p, const char *end, str needle);

// Returns whether `text` contains `part`, which must not be empty, ignoring the case of ASCII letters.
bool find_nocase(str text, str part);
