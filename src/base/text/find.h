// SPDX-License-Identifier: Apache-2.0
// Bytes in many bytes.
#pragma once
#include "base/str.h"

// Where the needle, which is not empty, first occurs from p on; NULL when it does not before end.
const char *find_bytes(const char *p, const char *end, str needle);

// Is the part, which is not empty, in the text, ASCII letters in either case?
bool find_nocase(str text, str part);
