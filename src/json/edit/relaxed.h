// SPDX-License-Identifier: Apache-2.0
// JSON with comments and trailing commas, which many editors accept.
#pragma once
#include "base/str.h"

// Overwrites comments, trailing commas and a byte order mark with blanks, so that a strict parser accepts the text.
// Line breaks stay and no byte moves: offsets in the result are valid in the original. A comment without an end is not
// changed, and the parser rejects it.
void json_relax(char *text, size_t n);

// Returns the first offset from `at` on that is neither white space nor part of a comment, or text.n.
size_t json_skip_blank(str text, size_t at);
