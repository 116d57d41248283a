// SPDX-License-Identifier: Apache-2.0
// Reads characters from bytes that may be invalid UTF-8, and returns the kind of a character in Unicode 16.0.
#pragma once
#include "base/str.h"
#include "text/tables.h"

enum unicode_kind { UNICODE_OTHER, UNICODE_LETTER, UNICODE_NUMBER, UNICODE_SPACE };

enum { UNICODE_REPLACEMENT = 0xfffd };

// Returns the kind of a character: letters have the general category L, numbers have N, and space has the property
// White_Space. `c` must be at most U+10FFFF.
static inline enum unicode_kind unicode_kind(uint32_t c) {
  uint32_t in_block = c & ((1u << UNICODE_BLOCK_BITS) - 1);
  uint32_t at = ((uint32_t)unicode_index[c >> UNICODE_BLOCK_BITS] << UNICODE_BLOCK_BITS) | in_block;
  return (enum unicode_kind)(unicode_blocks[at >> 2] >> ((at & 3) * 2) & 3);
}

// Reads the first character of n > 0 bytes and sets *out_len to its length. Invalid UTF-8 is read as WHATWG's
// TextDecoder reads it: the longest part that could begin a character (at least one byte) gives one U+FFFD, with
// *out_valid false.
uint32_t unicode_read(const char *p, size_t n, size_t *out_len, bool *out_valid);
