// SPDX-License-Identifier: Apache-2.0
#include "base/text/find.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/text/block.h"

// Compares the first and the last byte of the needle with 64 places of the text at once. Only the places where both
// bytes match need a full comparison.
const char *find_bytes(const char *p, const char *end, str needle) {
  ASSERT(needle.n > 0);
  size_t last = needle.n - 1;
  if (needle.n == 1) return p < end ? memchr(p, needle.p[0], (size_t)(end - p)) : NULL;
  for (; end - p >= (ptrdiff_t)(BLOCK_BYTES + last); p += BLOCK_BYTES) {
    uint64_t at = block_is(block_load(p), needle.p[0]);
    if (!at) continue;
    for (at &= block_is(block_load(p + last), needle.p[last]); at; at &= at - 1)
      if (memcmp(p + block_first(at), needle.p, last) == 0) return p + block_first(at);
  }
  // For the few remaining bytes, this loop is faster than the setup of memmem.
  for (; end - p > (ptrdiff_t)last; p++) {
    p = memchr(p, needle.p[0], (size_t)(end - p) - last);
    if (!p || memcmp(p, needle.p, needle.n) == 0) return p;
  }
  return NULL;
}

bool find_nocase(str text, str part) {
  ASSERT(part.n > 0);
  for (; text.n >= part.n; text = str_from(text, 1)) {
    if (ascii_lower(text.p[0]) != ascii_lower(part.p[0])) continue;
    if (str_eq_nocase((str){text.p, part.n}, part)) return true;
  }
  return false;
}
