// SPDX-License-Identifier: Apache-2.0
#include "base/text/fold.h"

#include "base/ascii.h"

char fold_char(str s, size_t *n) {
  static const struct {
    str bytes;
    char letter;
  } beyond[] = {
      {STR("\xc5\xbf"), 's'},      // U+017F, long s
      {STR("\xe2\x84\xaa"), 'k'},  // U+212A, Kelvin sign
      {STR("\xc4\xb0"), 'i'},      // U+0130 and U+0131, which Java's equalsIgnoreCase folds
      {STR("\xc4\xb1"), 'i'},
  };
  *n = 1;
  if (!(s.p[0] & 0x80)) return ascii_lower(s.p[0]);
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
    if (!str_starts(s, beyond[i].bytes)) continue;
    *n = beyond[i].bytes.n;
    return beyond[i].letter;
  }
  return s.p[0];
}

bool fold_same(str a, str b) {
  size_t n, m;
  a.n = strnlen(a.p, a.n);
  b.n = strnlen(b.p, b.n);
  while (a.n && b.n) {
    if (fold_char(a, &n) != fold_char(b, &m)) return false;
    a = str_from(a, n);
    b = str_from(b, m);
  }
  return !a.n && !b.n;
}
