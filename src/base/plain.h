// SPDX-License-Identifier: Apache-2.0
// Text from outside without what a terminal would obey.
#pragma once
#include "base/str.h"

// How long the escape sequence is that begins the text (colours, cursor, titles, character sets; ECMA-48); 0: there is
// none.
size_t plain_escape(str s);

// On one line, in place: escape sequences are left out; blanks and control characters, and what else ends a line,
// become one blank wherever they stand together, none at the ends. Gives the length, which is not more than before.
size_t plain_line(char *text, size_t n);
