// SPDX-License-Identifier: Apache-2.0
#include "json/number.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text/word.h"

// A double represents exactly every integer of up to MOST_SHORT_DIGITS digits, and every power of ten up to
// 10^MOST_SHORT_DIGITS.
enum { MOST_EXPONENT_DIGITS = 17, MOST_SHORT_DIGITS = 15 };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads the exponent of a number, which follows the "e". Sets *out to 0 if `s` is empty. Returns false if the exponent
// has too many digits.
static bool read_exponent(str s, int64_t *out) {
  bool negative = s.n && s.p[0] == '-';
  if (s.n && !is_digit(s.p[0])) s = str_from(s, 1);
  while (s.n && s.p[0] == '0') s = str_from(s, 1);
  if (s.n > MOST_EXPONENT_DIGITS) return false;
  int64_t v = 0;
  for (size_t i = 0; i < s.n; i++) v = v * 10 + (s.p[i] - '0');
  *out = negative ? -v : v;
  return true;
}

static str find_exponent(str s, str *mantissa) {
  size_t n = 0;
  while (n < s.n && s.p[n] != 'e' && s.p[n] != 'E') n++;
  *mantissa = (str){s.p, n};
  return str_from(s, n + 1);
}

bool json_number_read(const struct json *v, struct json_number *out) {
  struct json_number x = {.negative = v->p[0] == '-'};
  str mantissa, exponent = find_exponent(str_from(json_span(v), x.negative), &mantissa);
  const char *p = mantissa.p, *end = p + mantissa.n, *point = memchr(p, '.', mantissa.n);
  if (!point) point = end;
  while (p < end && !(*p >= '1' && *p <= '9')) p++;
  while (end > p && !(end[-1] >= '1' && end[-1] <= '9')) end--;
  x.digits = (str){p, (size_t)(end - p)};
  x.count = x.digits.n - (point > p && point < end);
  ASSERT(x.count <= x.digits.n);
  if (x.count == 0) {
    *out = (struct json_number){.digits = {p, 0}};
    return true;
  }
  if (!read_exponent(exponent, &x.exponent)) return false;
  // `p` is the first significant digit. The exponent grows by one for each digit between `p` and the decimal point, or
  // shrinks by one for each zero between the decimal point and `p`.
  x.exponent += point - p + (p > point);
  *out = x;
  return true;
}

bool json_number_same(const struct json *a, const struct json *b) {
  if (str_eq(json_span(a), json_span(b))) return true;
  struct json_number x, y;
  if (!json_number_read(a, &x) || !json_number_read(b, &y)) return false;
  if (x.negative != y.negative || x.count != y.count || x.exponent != y.exponent) return false;
  const char *p = x.digits.p, *q = y.digits.p;
  for (size_t left = x.count; left; left--, p++, q++) {
    if (*p == '.') p++;
    if (*q == '.') q++;
    if (*p != *q) return false;
  }
  return true;
}

static bool digits_to_u64(const struct json_number *x, uint64_t *out) {
  uint64_t v = 0;
  const char *p = x->digits.p;
  for (int64_t i = 0; i < x->exponent; i++) {
    unsigned d = 0;
    if ((size_t)i < x->count) {
      if (*p == '.') p++;
      d = (unsigned)(*p++ - '0');
    }
    if (v > (UINT64_MAX - d) / 10) return false;
    v = v * 10 + d;
  }
  *out = v;
  return true;
}

bool json_int(const struct json *v, int64_t *out) {
  struct json_number x;
  if (!json_is(v, JSON_NUMBER) || !json_number_read(v, &x)) return false;
  if ((int64_t)x.count > x.exponent || x.exponent > 19) return false;
  uint64_t u;
  if (!digits_to_u64(&x, &u) || u > (uint64_t)INT64_MAX + x.negative) return false;
  *out = x.negative ? (int64_t)(0 - u) : (int64_t)u;
  return true;
}

bool json_double(const struct json *v, double *out) {
  if (!json_is(v, JSON_NUMBER)) return false;
  // strtod needs a NUL after the number. The span has none, and may even end at the end of readable memory.
  char small[64], *text = v->n < sizeof small ? small : mem_alloc((size_t)v->n + 1);
  memcpy(text, v->p, v->n);
  text[v->n] = 0;
  double d = strtod(text, NULL);
  if (text != small) mem_free(text);
  if (!isfinite(d)) return false;
  *out = d;
  return true;
}

// Returns the number of consecutive digits from offset `at` on.
static size_t count_digits(str s, size_t at) {
  size_t n = 0;
  while (at + n < s.n && is_digit(s.p[at + n])) n++;
  return n;
}

bool json_number_is(str s) {
  size_t at = s.n && s.p[0] == '-', n = count_digits(s, at);
  if (!n || (n > 1 && s.p[at] == '0')) return false;
  at += n;
  if (at < s.n && s.p[at] == '.') {
    if (!(n = count_digits(s, at + 1))) return false;
    at += n + 1;
  }
  if (at < s.n && (s.p[at] | 0x20) == 'e') {
    at++;
    at += at < s.n && (s.p[at] == '+' || s.p[at] == '-');
    if (!(n = count_digits(s, at))) return false;
    at += n;
  }
  return at == s.n;
}

// ---- short numbers

static const double powers[MOST_SHORT_DIGITS + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Reads a short number without a sign (see json_number_short), digit by digit.
static bool read_digits(str s, double *out) {
  size_t digits = 0, after = 0;
  uint64_t value = 0;
  bool point = false;
  for (size_t i = 0; i < s.n; i++) {
    unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
    if (d < 10) {
      value = value * 10 + d;
      after += point;
      if (++digits > MOST_SHORT_DIGITS) return false;
    } else if (s.p[i] == '.' && !point && digits && i + 1 < s.n) {
      point = true;
    } else {
      return false;
    }
  }
  *out = (double)value / powers[after];
  return digits > 0;
}

// Returns whether all eight bytes are digits. `w` has the first character in its lowest byte.
static bool are_digits(uint64_t w) {
  const uint64_t upper = UINT64_C(0xf0f0f0f0f0f0f0f0);
  return ((w & upper) | ((w + UINT64_C(0x0606060606060606)) & upper) >> 4) == UINT64_C(0x3333333333333333);
}

// Returns the number that the eight digits in `w` represent: joins neighbouring digits into two-digit numbers, these
// into four-digit numbers, and these into the result.
static uint64_t join_digits(uint64_t w) {
  w = (w & UINT64_C(0x0f0f0f0f0f0f0f0f)) * (1 + (10 << 8)) >> 8;
  w = (w & UINT64_C(0x00ff00ff00ff00ff)) * (1 + (100 << 16)) >> 16;
  return (w & UINT64_C(0x0000ffff0000ffff)) * (1 + (UINT64_C(10000) << 32)) >> 32;
}

// Reads a number of one to eight characters in one step, after padding it with zeros at the front. Digits before a
// decimal point are moved by one place, so that they overwrite the point. No branch depends on the length of the
// number, because processors cannot predict this length well.
static bool read_eight(str s, double *out) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  unsigned zeros = 8 - (unsigned)s.n, after = 0;
  uint64_t w = word_of(s.p, s.n) << 8 * zeros | ('0' * ones & ((UINT64_C(1) << 8 * zeros) - 1));
  uint64_t other = w ^ '.' * ones, points = (other - ones) & ~other & 0x80 * ones;
  if (points) {
    unsigned at = (unsigned)__builtin_ctzll(points) / 8;
    if (at == zeros || at == 7) return false;
    uint64_t front = (UINT64_C(1) << 8 * at) - 1;
    w = (w & ~(front << 8 | 0xff)) | (w & front) << 8 | '0';
    after = 7 - at;
  }
  *out = (double)join_digits(w) / powers[after];
  return are_digits(w);
}

bool json_number_short(str s, double *out) {
  double size;
  bool negative = s.n && s.p[0] == '-';
  str digits = str_from(s, negative);
  if (!digits.n || !(digits.n <= 8 ? read_eight(digits, &size) : read_digits(digits, &size))) return false;
  *out = negative ? -size : size;
  return true;
}
