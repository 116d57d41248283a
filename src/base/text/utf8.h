// SPDX-License-Identifier: Apache-2.0
// UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once
#include "base/str.h"

// Returns the length (1..4) of the well-formed character at the start of the text, or 0 if there is no such character.
size_t utf8_char(const char *text, size_t n);

bool utf8_valid(str s);

// Returns whether a byte is a continuation byte of a character.
static inline bool utf8_follows(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

// Returns the number of characters of well-formed text.
size_t utf8_count(str s);

// Returns the first `max` bytes, or up to three bytes fewer so that no character is cut. Cuts invalid UTF-8 at `max`.
str utf8_cut(str s, size_t max);

// Writes code point c (not a surrogate) into out[4] and returns its length.
size_t utf8_put(uint32_t c, char *out);

// Removes the first character of s, which must not be empty, and returns its code point. A byte that starts no
// well-formed character counts as the character U+FFFD.
uint32_t utf8_next(str *s);
