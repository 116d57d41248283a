// SPDX-License-Identifier: Apache-2.0
#include "json/number.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

// Digits of a number that a double holds exactly; it holds as many powers of ten.
enum { MOST_EXPONENT_DIGITS = 17, MOST_SHORT_DIGITS = 15 };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The exponent as written; true with 0 when there is none.
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
  if (x.count == 0) {
    *out = (struct json_number){.digits = {p, 0}};
    return true;
  }
  if (!read_exponent(exponent, &x.exponent)) return false;
  // A first digit behind the point has zeros before it, one before the point has digits before the point.
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
  // strtod wants a NUL behind the number, and the span may be the last bytes of memory.
  char small[64], *text = v->n < sizeof small ? small : mem_alloc((size_t)v->n + 1);
  memcpy(text, v->p, v->n);
  text[v->n] = 0;
  double d = strtod(text, NULL);
  if (text != small) mem_free(text);
  if (!isfinite(d)) return false;
  *out = d;
  return true;
}

bool json_number_short(str s, double *out) {
  static const double powers[MOST_SHORT_DIGITS + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  size_t i = s.n && s.p[0] == '-', digits = 0, behind = 0;
  uint64_t value = 0;
  for (bool point = false; i < s.n; i++) {
    unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
    if (d < 10) {
      value = value * 10 + d;
      behind += point;
      if (++digits > MOST_SHORT_DIGITS) return false;
    } else if (s.p[i] == '.' && !point && digits && i + 1 < s.n) {
      point = true;
    } else {
      return false;
    }
  }
  if (!digits) return false;
  *out = (s.p[0] == '-' ? -1.0 : 1.0) * (behind ? (double)value / powers[behind] : (double)value);
  return true;
}
