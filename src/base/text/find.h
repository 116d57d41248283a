// SPDX-License-Identifier: Apache-2.0
// Fast search for bytes in a text.
#pragma once
#include "base/str.h"

// Returns the first occurrence of the needle, which is not empty, between p and end, or NULL.
const char *find_bytes(const char *p, const char *end, str needle);

// Returns whether the text contains the part, which is not empty, ignoring the case of ASCII letters.
bool find_nocase(str text, str part);
