// SPDX-License-Identifier: Apache-2.0
// JSON as editors write it for people: with comments and trailing commas.
#pragma once
#include "base/str.h"

// Overwrites line comments, block comments, commas before a closing bracket and a byte order mark with blanks, in
// place, so that a strict parser reads the rest. Line breaks stay, and so does the place of every other byte: a span of
// the relaxed text is a span of the original. A comment that does not end is left as it is, and the parser refuses it.
void json_relax(char *text, size_t n);

// The first place from `at` on that is neither white space nor part of a comment, or text.n.
size_t json_skip_blank(str text, size_t at);
