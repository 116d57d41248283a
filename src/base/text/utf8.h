// SPDX-License-Identifier: Apache-2.0
// UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once
#include "base/str.h"

// Returns the length of the well-formed character at the start of the text (1..4), or 0.
size_t utf8_char(const char *text, size_t n);

bool utf8_valid(str s);

// Returns whether a byte continues a character.
static inline bool utf8_follows(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

// Returns the number of characters of well-formed text.
size_t utf8_count(str s);

// Returns the first `max` bytes, or up to three fewer to keep the last character whole. Cuts invalid UTF-8 at `max`.
str utf8_cut(str s, size_t max);

// Writes code point c (not a surrogate) into out[4] and returns its length.
size_t utf8_put(uint32_t c, char *out);

// Takes the next character off the front of s, which is not empty, and returns its code point. A byte that starts no
// well-formed character counts as U+FFFD.
uint32_t utf8_next(str *s);
