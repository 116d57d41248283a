// SPDX-License-Identifier: Apache-2.0
#include "base/text/base64.h"

#include "base/assert.h"

static const char *digits_of(enum base64_form form) {
  return form == BASE64_URL ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                            : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

// Encodes the last n bytes, one or two, which do not fill a group of three.
static char *put_tail(const unsigned char *p, size_t n, enum base64_form form, char *to) {
  const char *digits = digits_of(form);
  unsigned bits = (unsigned)p[0] << 16 | (n == 2 ? (unsigned)p[1] << 8 : 0);
  *to++ = digits[bits >> 18];
  *to++ = digits[bits >> 12 & 63];
  if (n == 2) *to++ = digits[bits >> 6 & 63];
  if (form == BASE64_URL) return to;
  if (n == 1) *to++ = '=';
  *to++ = '=';
  return to;
}

void base64_encode(str bytes, enum base64_form form, struct buf *out) {
  static const size_t unpadded[] = {0, 2, 3};
  if (!bytes.n) return;
  size_t tail = form == BASE64_URL ? unpadded[bytes.n % 3] : bytes.n % 3 ? 4 : 0, size = bytes.n / 3 * 4 + tail;
  char *to = buf_room(out, size);
  if (!to) return;
  const char *digits = digits_of(form), *start = to;
  const unsigned char *p = (const unsigned char *)bytes.p;
  size_t left = bytes.n;
  for (; left >= 3; p += 3, left -= 3) {
    unsigned bits = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
    *to++ = digits[bits >> 18];
    *to++ = digits[bits >> 12 & 63];
    *to++ = digits[bits >> 6 & 63];
    *to++ = digits[bits & 63];
  }
  if (left) to = put_tail(p, left, form, to);
  ASSERT(to == start + size);
  out->n += size;
}

// Returns the value of a base64 digit, or -1 for any other character.
static int value_of(char c, enum base64_form form) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == (form == BASE64_URL ? '-' : '+')) return 62;
  return c == (form == BASE64_URL ? '_' : '/') ? 63 : -1;
}

bool base64_decode(str text, enum base64_form form, struct buf *out) {
  if (!text.n) return true;
  if (form == BASE64_STANDARD) {
    if (text.n % 4) return false;
    for (int i = 0; i < 2 && text.p[text.n - 1] == '='; i++) text.n--;
  }
  if (text.n % 4 == 1) return false;
  char *to = buf_room(out, text.n / 4 * 3 + text.n % 4 * 3 / 4);
  if (!to) return false;
  unsigned bits = 0, held = 0;  // `held` is the number of bits in `bits` that do not fill a byte yet
  size_t n = 0;
  for (size_t i = 0; i < text.n; i++) {
    int v = value_of(text.p[i], form);
    if (v < 0) return false;
    bits = bits << 6 | (unsigned)v;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    to[n++] = (char)(bits >> held);
    bits &= (1u << held) - 1;
  }
  if (bits) return false;
  out->n += n;
  return true;
}
