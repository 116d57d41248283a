// SPDX-License-Identifier: Apache-2.0
// Classes of ASCII characters, independent of the locale. Bytes above ASCII belong to no class.
#pragma once
#include "base/str.h"

static inline bool ascii_is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
static inline bool ascii_is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
static inline bool ascii_is_digit(char c) {
  return c >= '0' && c <= '9';
}
static inline bool ascii_is_letter(char c) {
  return ascii_is_lower(c) || ascii_is_upper(c);
}
static inline bool ascii_is_alnum(char c) {
  return ascii_is_letter(c) || ascii_is_digit(c);
}
static inline char ascii_lower(char c) {
  return ascii_is_upper(c) ? (char)(c + ('a' - 'A')) : c;
}

// Returns the value of a hexadecimal digit, or -1 for any other character.
static inline int ascii_hex(char c) {
  if (ascii_is_digit(c)) return c - '0';
  c = ascii_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Returns whether HTTP accepts the text as a token, such as a header name (RFC 9110, 5.6.2).
static inline bool ascii_is_token(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_alnum(s.p[i]) && (!s.p[i] || !strchr("!#$%&'*+-.^_`|~", s.p[i]))) return false;
  return s.n > 0;
}
