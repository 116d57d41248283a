// SPDX-License-Identifier: Apache-2.0
// Functions for the inside of a JSON string: the text between its quotes. "Checked text" is text that the parser has
// accepted.
#pragma once
#include <endian.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/buf.h"

// Returns a mask: the highest bit of each byte in `w` that is not plain (a quote, a backslash, a control character, or
// above ASCII). Only the lowest bit in the mask is reliable; borrows of the subtractions may set wrong bits above that
// bit.
static inline uint64_t json_text_stops(uint64_t w) {
  const uint64_t ones = 0x0101010101010101, highs = ones << 7;
  uint64_t quote = w ^ ones * '"', backslash = w ^ ones * '\\';
  return ((quote - ones) | (backslash - ones) | (w - ones * ' ') | w) & highs;
}

// The same as json_text_skip_plain for fewer than sixteen bytes. `start` is the start of the text: the bytes before `p`
// are plain.
const char *json_text_skip_rest(const char *start, const char *p, const char *end);

// Returns the position of the first byte that is not plain, or `end`. Quotes, backslashes, control characters and bytes
// above ASCII are not plain. Inlined, because the parser calls it for every string of a message.
static inline const char *json_text_skip_plain(const char *p, const char *end) {
  const char *start = p;
#ifdef __SSE2__
  // Reads sixteen bytes at once on processors with SSE2. As signed numbers, bytes above ASCII are less than a blank.
  for (; end - p >= 16; p += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i marked = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    int stops = _mm_movemask_epi8(_mm_or_si128(marked, _mm_cmplt_epi8(x, _mm_set1_epi8(' '))));
    if (stops) return p + __builtin_ctz((unsigned)stops);
  }
#endif
  return json_text_skip_rest(start, p, end);
}

// Returns the value of four hexadecimal digits, or -1 if one of the characters is not such a digit.
int json_text_hex4(const char *p);

// Removes the first character of *rest, which must be checked text and not empty, and returns its code point.
uint32_t json_text_next(str *rest);

// Unescapes checked text into `out`, which must have room for text.n bytes. Returns the length of the result.
size_t json_text_unescape(str text, char *out);

// Returns whether `text`, which must be checked text, equals `plain` after unescaping.
bool json_text_equals(str text, str plain);

// Writes the escape of a quote, a backslash or a control character.
void json_text_escape(struct buf *out, char c);

// Writes a code point as \uXXXX, or as a pair of surrogates if it is above U+FFFF.
void json_text_escape_code(struct buf *out, uint32_t c);

// Writes a code point of a string in ASCII. Printable characters are not escaped, except quotes and backslashes.
void json_text_put_ascii(struct buf *out, uint32_t c);
