// SPDX-License-Identifier: Apache-2.0
// UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once
#include "base/str.h"

// Length of the well-formed character at p (1..4), or 0.
size_t utf8_char(const char *text, size_t n);

bool utf8_valid(str s);

// A byte that is not the first of its character.
static inline bool utf8_follows(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

// Characters of well-formed text.
size_t utf8_count(str s);

// The first `max` bytes, or up to three fewer so that no character is cut in two. What is no UTF-8 is cut at `max`.
str utf8_cut(str s, size_t max);

// Writes code point c (not a surrogate) into out[4]; gives its length.
size_t utf8_put(uint32_t c, char *out);

// Takes the next character off the front of s, which is not empty, and gives its code point. A byte that begins no
// well-formed character is taken alone, as U+FFFD.
uint32_t utf8_next(str *s);
