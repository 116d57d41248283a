// SPDX-License-Identifier: Apache-2.0
// Measures and cuts text by characters, lines and tokens. Accepts any bytes; each invalid sequence counts as one U+FFFD
// (text/unicode.h).
#pragma once
#include "base/buf.h"

// Returns the number of characters of a text, at most `max`; *out_bytes is their size in bytes.
size_t measure_chars(str text, size_t max, size_t *out_bytes);

// Returns the number of all characters.
size_t measure_all_chars(str text);

// Returns the number of lines. Lines end with \n, \r\n or \r. The last line end does not begin another, empty line.
size_t measure_lines(str text);

// Returns the offset of the line with this number (from 0), or the length of the text if there are fewer lines.
size_t measure_skip_lines(str text, size_t count);

// Removes the first line from a text that is not empty, and returns the line without its line end.
str measure_next_line(str *text);

// Appends text as UTF-8, with invalid sequences replaced.
void measure_repair(struct buf *out, str text);

// A cut reads at most this many bytes for each token. Nearly all text has fewer bytes per token; other text is cut a
// little earlier.
enum { MEASURE_TOKEN_BYTES = 16 };

// Returns the length of a prefix with at most `limit` tokens, cut at a character boundary. The prefix is nearly as long
// as possible.
size_t measure_cut_tokens(str text, size_t limit);

// Returns a better place than `at` to cut UTF-8 text, at most a quarter earlier: after a line end, else after a
// sentence, else after a word, else `at`.
size_t measure_cut_nicely(str text, size_t at);
