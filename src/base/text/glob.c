// SPDX-License-Identifier: Apache-2.0
#include "base/text/glob.h"

// After a mismatch, only the last star is tried with a longer run of characters. Earlier stars match the shortest
// possible runs, and longer runs for them would not help.
bool glob_match(str pattern, str text) {
  size_t p = 0, t = 0, star = SIZE_MAX, from = 0;
  while (t < text.n) {
    if (p < pattern.n && pattern.p[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.n && pattern.p[p] == text.p[t]) {
      p++;
      t++;
    } else if (star != SIZE_MAX) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.n && pattern.p[p] == '*') p++;
  return p == pattern.n;
}

bool glob_is_plain(str pattern) {
  return !pattern.n || !memchr(pattern.p, '*', pattern.n);
}
