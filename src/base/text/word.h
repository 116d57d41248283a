// SPDX-License-Identifier: Apache-2.0
// Reads up to eight bytes as one little-endian number, without accessing any byte after these bytes.
#pragma once
#include <endian.h>

#include "base/str.h"

// Reads fewer than eight bytes as two numbers that may overlap. This avoids a loop over n bytes.
static inline uint64_t word_of(const char *p, size_t n) {
  uint64_t w;
  uint32_t low, high;
  if (n >= 8) {
    memcpy(&w, p, 8);
    return le64toh(w);
  }
  if (n >= 4) {
    memcpy(&low, p, 4);
    memcpy(&high, p + n - 4, 4);
    return le32toh(low) | (uint64_t)le32toh(high) << 8 * (n - 4);
  }
  if (!n) return 0;
  size_t middle = n / 2, last = n - 1;
  return (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[middle] << 8 * middle |
         (uint64_t)(unsigned char)p[last] << 8 * last;
}
