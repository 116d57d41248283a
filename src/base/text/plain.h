// SPDX-License-Identifier: Apache-2.0
// Text from outside without what a terminal would obey, and without characters that a reader does not see.
#pragma once
#include "base/arena.h"

// How long the escape sequence is that begins the text (colours, cursor, titles, character sets; ECMA-48); 0: there is
// none.
size_t plain_escape(str s);

// On one line, in place: escape sequences are left out; blanks and control characters, and what else ends a line,
// become one blank wherever they stand together, none at the ends; hidden characters are left out. Gives the length,
// which is not more than before.
size_t plain_line(char *text, size_t n);

// The length of the hidden character that begins `rest`, or 0 when a reader sees the character or needs it. Hidden are
// characters that have no glyph or change the order of others: bidi controls, zero-width characters, tags, variation
// selectors, fillers. A joiner between two characters that join, a variation selector after a symbol, and the tags of
// a flag are needed. `before` is the text in front of `rest`, as far as it stays. Control characters do not count.
size_t plain_hidden(str before, str rest);

// May plain_text remove or replace this character? Depends on what is next to it.
bool plain_may_change(uint32_t c);

// Writes the text without escape sequences, hidden characters and control characters to `out`, which has room for
// text.n bytes, and returns the length. Line feeds, tabs and CR LF stay; a CR without LF becomes LF, so that the line
// after it does not overwrite the line before it. `exact`: all C0 controls except ESC stay as they are.
size_t plain_text(str text, bool exact, char *out);

// plain_text with a copy in the arena, or the text itself when nothing in it has to go.
str plain_copy(struct arena *a, str text, bool exact);

// The text if it has at most `longest` bytes (0: any number), else its beginning and "…", in the arena.
str plain_shortened(struct arena *a, str text, size_t longest);
