// SPDX-License-Identifier: Apache-2.0
#include "base/text/utf8.h"

size_t utf8_char(const char *text, size_t n) {
  const unsigned char *p = (const unsigned char *)text;
  if (n == 0) return 0;
  unsigned char c = p[0];
  if (c < 0x80) return 1;
  if (c < 0xc2 || c > 0xf4 || n < 2 || !utf8_follows(text[1])) return 0;
  if (c < 0xe0) return 2;
  if (n < 3 || !utf8_follows(text[2])) return 0;
  if (c < 0xf0) {
    bool overlong = c == 0xe0 && p[1] < 0xa0, surrogate = c == 0xed && p[1] > 0x9f;
    return overlong || surrogate ? 0 : 3;
  }
  if (n < 4 || !utf8_follows(text[3])) return 0;
  bool overlong = c == 0xf0 && p[1] < 0x90, beyond = c == 0xf4 && p[1] > 0x8f;
  return overlong || beyond ? 0 : 4;
}

bool utf8_valid(str s) {
  for (size_t i = 0, k; i < s.n; i += k)
    if (!(k = utf8_char(s.p + i, s.n - i))) return false;
  return true;
}

size_t utf8_count(str s) {
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++) n += !utf8_follows(s.p[i]);
  return n;
}

str utf8_cut(str s, size_t max) {
  if (s.n <= max) return s;
  size_t back = 0;
  while (back < 4 && back < max && utf8_follows(s.p[max - back])) back++;
  return (str){s.p, back < 4 ? max - back : max};
}

size_t utf8_put(uint32_t c, char *out) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xc0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3f));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3f));
    out[2] = (char)(0x80 | (c & 0x3f));
    return 3;
  }
  out[0] = (char)(0xf0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 0x3f));
  out[2] = (char)(0x80 | (c >> 6 & 0x3f));
  out[3] = (char)(0x80 | (c & 0x3f));
  return 4;
}

uint32_t utf8_next(str *s) {
  static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  size_t n = utf8_char(s->p, s->n);
  uint32_t c = n ? (unsigned char)s->p[0] & first_bits[n] : 0xfffd;
  for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)s->p[i] & 0x3f);
  *s = str_from(*s, n ? n : 1);
  return c;
}
