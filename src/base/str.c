// SPDX-License-Identifier: Apache-2.0
#include "base/str.h"

static unsigned char lower(unsigned char c) {
  return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

bool str_eq_nocase(str a, str b) {
  if (a.n != b.n) return false;
  size_t i = 0;
  // Eight at a time while they are the same, or cannot be.
  for (; i + 8 <= a.n; i += 8) {
    uint64_t x, y;
    memcpy(&x, a.p + i, 8);
    memcpy(&y, b.p + i, 8);
    if ((x ^ y) & ~0x2020202020202020u) return false;
    if (x != y) break;
  }
  for (; i < a.n; i++)
    if (a.p[i] != b.p[i] && lower((unsigned char)a.p[i]) != lower((unsigned char)b.p[i])) return false;
  return true;
}

int str_cmp(str a, str b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int c = n ? memcmp(a.p, b.p, n) : 0;
  if (c) return c;
  return (a.n > b.n) - (a.n < b.n);
}

str str_trim(str s) {
  while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) s.p++, s.n--;
  while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) s.n--;
  return s;
}

bool str_cut(str s, char sep, str *out_head, str *out_tail) {
  const char *at = s.n ? memchr(s.p, sep, s.n) : NULL;
  if (!at) {
    *out_head = s;
    *out_tail = (str){s.p + s.n, 0};
    return false;
  }
  size_t k = (size_t)(at - s.p);
  *out_head = (str){s.p, k};
  *out_tail = str_from(s, k + 1);
  return true;
}

bool str_to_u64(str s, uint64_t *out) {
  uint64_t v = 0;
  if (s.n == 0) return false;
  for (size_t i = 0; i < s.n; i++) {
    unsigned d = (unsigned)((unsigned char)s.p[i] - '0');
    if (d > 9 || v > (UINT64_MAX - d) / 10) return false;
    v = v * 10 + d;
  }
  *out = v;
  return true;
}
