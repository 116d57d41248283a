// SPDX-License-Identifier: Apache-2.0
// Measures and cuts text by characters, lines and tokens. Accepts any bytes; each invalid sequence counts as one U+FFFD
// (text/unicode.h).
#pragma once
#include "base/buf.h"

// Returns the number of characters of a text, at most `max`; *out_bytes is their size in bytes.
size_t measure_chars(str text, size_t max, size_t *out_bytes);

// Returns the number of all characters.
size_t measure_all_chars(str text);

// Returns the number of lines, which end with \n, \r\n or \r. No empty line follows the last line end.
size_t measure_lines(str text);

// Returns the offset of the line with this number (from 0), or the length of the text if there are fewer lines.
size_t measure_skip_lines(str text, size_t count);

// Removes the first line from a text that is not empty, and returns it without its end.
str measure_next_line(str *text);

// Appends text as UTF-8, with invalid sequences replaced.
void measure_repair(struct buf *out, str text);

// Maximum bytes per token that a cut reads. Nearly all text has fewer; other text is cut a little earlier.
enum { MEASURE_TOKEN_BYTES = 16 };

// Returns the length of a prefix with at most `limit` tokens, at a character boundary, nearly as long as possible.
size_t measure_cut_tokens(str text, size_t limit);

// Returns a better place to cut UTF-8 text, at most a quarter before `at`: after a line end, else after a sentence,
// else after a word, else `at`.
size_t measure_cut_nicely(str text, size_t at);
