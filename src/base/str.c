// SPDX-License-Identifier: Apache-2.0
#include "base/str.h"

#include "base/text/plain.h"

static unsigned char lower(unsigned char c) {
  return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

// Converts eight characters to lower case at once. In the sum `from_a`, the top bit of a byte is set if the character
// is 'A' or more; in the sum `above_z`, if the character is more than 'Z'.
static uint64_t lower8(uint64_t x) {
  const uint64_t ones = 0x0101010101010101, tops = 0x80 * ones;
  uint64_t low = x & ~tops, from_a = low + (0x80 - 'A') * ones, above_z = low + (0x7f - 'Z') * ones;
  return x | ((from_a ^ above_z) & ~x & tops) >> 2;
}

static bool same8(const char *a, const char *b) {
  uint64_t x, y;
  memcpy(&x, a, 8);
  memcpy(&y, b, 8);
  return x == y || lower8(x) == lower8(y);
}

bool str_eq_nocase(str a, str b) {
  if (a.n != b.n) return false;
  size_t i = 0;
  for (; i + 8 <= a.n; i += 8)
    if (!same8(a.p + i, b.p + i)) return false;
  if (a.n >= 8) return same8(a.p + a.n - 8, b.p + b.n - 8);
  for (; i < a.n; i++)
    if (lower((unsigned char)a.p[i]) != lower((unsigned char)b.p[i])) return false;
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

void str_mask_controls(char *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)p[i], next = i + 1 < n ? (unsigned char)p[i + 1] : 0;
    if (c < 0x20 || c == 0x7f) p[i] = '?';
    else if (c == 0xc2 && next >= 0x80 && next <= 0x9f) p[i] = p[i + 1] = '?';
    else if (c >= 0xc2) memset(p + i, '?', plain_hidden((str){p, i}, (str){p + i, n - i}));
  }
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

str str_from_u64(uint64_t v, struct str_digits *room) {
  char *end = room->text + sizeof room->text, *p = end;
  do *--p = (char)('0' + v % 10);
  while (v /= 10);
  return (str){p, (size_t)(end - p)};
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

str str_env(char *const *env, str name) {
  for (; env && *env; env++)
    if (strncmp(*env, name.p, name.n) == 0 && (*env)[name.n] == '=') return str_of(*env + name.n + 1);
  return STR_NONE;
}
