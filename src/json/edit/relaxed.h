// SPDX-License-Identifier: Apache-2.0
// JSON with comments and trailing commas, as editors write it.
#pragma once
#include "base/str.h"

// Overwrites line comments, block comments, commas before a closing bracket and a byte order mark with blanks, in
// place, so that a strict parser reads the rest. Line breaks stay, and no byte moves: a span of the relaxed text is a
// span of the original. A comment without an end stays, and the parser rejects it.
void json_relax(char *text, size_t n);

// Returns the first place from `at` on that is neither white space nor part of a comment, or text.n.
size_t json_skip_blank(str text, size_t at);
