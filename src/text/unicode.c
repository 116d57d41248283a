// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include "base/text/utf8.h"

static uint32_t bits(const char *p, size_t i) {
  return (unsigned char)p[i] & 0x3f;
}

static uint32_t decode(const char *p, size_t len) {
  uint32_t lead = (unsigned char)p[0];
  switch (len) {
  case 1: return lead;
  case 2: return (lead & 0x1f) << 6 | bits(p, 1);
  case 3: return (lead & 0x0f) << 12 | bits(p, 1) << 6 | bits(p, 2);
  default: return (lead & 0x07) << 18 | bits(p, 1) << 12 | bits(p, 2) << 6 | bits(p, 3);
  }
}

// Returns whether n bytes are the beginning of a valid character. Appends continuation bytes and checks the result. Any
// continuation bytes will do, because only the second byte of a character depends on the first one; n is at least 2.
static bool begins_character(const char *p, size_t n) {
  char whole[4] = {(char)0x80, (char)0x80, (char)0x80, (char)0x80};
  memcpy(whole, p, n);
  return utf8_char(whole, sizeof whole) > n;
}

static size_t broken_length(const char *p, size_t n) {
  size_t len = 1;
  while (len < 3 && len < n && begins_character(p, len + 1)) len++;
  return len;
}

uint32_t unicode_read(const char *p, size_t n, size_t *out_len, bool *out_valid) {
  size_t len = utf8_char(p, n);
  *out_valid = len > 0;
  *out_len = len ? len : broken_length(p, n);
  return len ? decode(p, len) : UNICODE_REPLACEMENT;
}
