// SPDX-License-Identifier: Apache-2.0
// Where to cut text: by characters, lines and tokens. Any bytes may be measured; what is no UTF-8 is read as U+FFFD,
// one for each broken part (text/unicode.h).
#pragma once
#include "base/buf.h"

// The first characters of a text, at most `max`: how many there are, and in *out_bytes how many bytes they take.
size_t measure_chars(str text, size_t max, size_t *out_bytes);

// All characters.
size_t measure_all_chars(str text);

// Lines end at \n, \r\n or \r; there is no empty line behind the last end.
size_t measure_lines(str text);

// Where the line with this number (from 0) begins; the end of the text when there are not so many.
size_t measure_skip_lines(str text, size_t count);

// Takes the first line, without its end, off the front of a text that is not empty.
str measure_next_line(str *text);

// Appends text as UTF-8, broken parts replaced.
void measure_repair(struct buf *out, str text);

// No cut looks further than so many bytes for each token: nearly all text has fewer, and what has more is only cut
// a little earlier.
enum { MEASURE_TOKEN_BYTES = 16 };

// A prefix of UTF-8 text that has at most `limit` tokens, in bytes: as long as can be found cheaply, no character cut.
size_t measure_cut_tokens(str text, size_t limit);

// A better place to cut UTF-8 text, at or before `at`, but not by more than a quarter: behind a line end, else behind a
// sentence, else behind a word, else `at`.
size_t measure_cut_nicely(str text, size_t at);
