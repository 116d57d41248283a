// SPDX-License-Identifier: Apache-2.0
// Removes terminal escape sequences, control characters and hidden characters from text that comes from outside.
#pragma once
#include "base/arena.h"

// Returns the length of the escape sequence (colours, cursor, titles, character sets; ECMA-48) at the start of the
// text, or 0 if the text starts with no such sequence.
size_t plain_escape(str s);

// Puts the text on one line, in place, and returns the new length. Removes escape sequences and hidden characters,
// replaces each run of blanks, control characters and line ends with one blank, and removes blanks at both ends.
size_t plain_line(char *text, size_t n);

// Returns the length of the hidden character at the start of `rest`. Returns 0 if this character is not hidden, or if
// readers need it. Hidden characters have no glyph or change the order of other characters: bidi controls, zero-width
// characters, tags, variation selectors, fillers. Readers need a zero-width joiner between two characters that it can
// join, a variation selector after a symbol, and the tags of a flag. `before` is the text before `rest`, without
// removed characters. Control characters do not count as hidden characters.
size_t plain_hidden(str before, str rest);

// Returns whether plain_text may remove or replace this character, depending on its neighbours.
bool plain_may_change(uint32_t c);

// Writes the text without escape sequences, hidden characters and control characters to `out`, which must have room for
// text.n bytes, and returns the length. Line feeds, tabs and CR LF stay; a CR without LF becomes LF, so that the line
// after it does not overwrite the line before it. With `exact`, all C0 controls except ESC stay as they are.
size_t plain_text(str text, bool exact, char *out);

// Returns the result of plain_text in the arena, or the text itself if nothing changes.
str plain_copy(struct arena *a, str text, bool exact);

// Returns the text if it has at most `longest` bytes or `longest` is 0; otherwise returns the beginning of the text and
// "…", in the arena.
str plain_shortened(struct arena *a, str text, size_t longest);
