// SPDX-License-Identifier: Apache-2.0
#include "schema/exact.h"

#include "base/assert.h"
#include "json/number.h"

enum { MOST_DIVISOR_DIGITS = 19 };

// Reads a number with an exponent of any length. A number whose exponent is too long for json_number_read has a
// larger magnitude than every other number or, if the exponent is negative, is nearly zero.
static struct json_number read_any(const struct json *v) {
  struct json_number x;
  ASSERT(v->type == JSON_NUMBER);
  if (json_number_read(v, &x)) return x;
  const char *e = memchr(v->p, 'e', v->n);
  if (!e) e = memchr(v->p, 'E', v->n);
  bool tiny = e && e[1] == '-';
  return (struct json_number){
      .negative = v->p[0] == '-', .digits = STR("1"), .count = 1, .exponent = tiny ? INT64_MIN / 2 : INT64_MAX / 2};
}

static int compare_digits(const struct json_number *x, const struct json_number *y) {
  const char *p = x->digits.p, *q = y->digits.p;
  for (size_t i = 0; i < x->count && i < y->count; i++, p++, q++) {
    if (*p == '.') p++;
    if (*q == '.') q++;
    if (*p != *q) return *p < *q ? -1 : 1;
  }
  return x->count < y->count ? -1 : x->count > y->count;
}

int exact_compare(const struct json *a, const struct json *b) {
  struct json_number x = read_any(a), y = read_any(b);
  if (x.negative != y.negative) return x.negative ? -1 : 1;
  int order;
  if (!x.count || !y.count) order = (x.count > 0) - (y.count > 0);
  else if (x.exponent != y.exponent) order = x.exponent < y.exponent ? -1 : 1;
  else order = compare_digits(&x, &y);
  return x.negative ? -order : order;
}

bool exact_integer(const struct json *v) {
  const char *p = v->p;
  size_t i = p[0] == '-';
  while (i < v->n && p[i] >= '0' && p[i] <= '9') i++;
  if (i == v->n) return true;
  struct json_number x = read_any(v);
  return (int64_t)x.count <= x.exponent || !x.count;
}

static unsigned next_digit(const char **p) {
  if (**p == '.') (*p)++;
  return (unsigned)(*(*p)++ - '0');
}

bool exact_divisor(const struct json *v, struct exact_divisor *out) {
  struct json_number x;
  if (!json_number_read(v, &x) || x.negative || !x.count || x.count > MOST_DIVISOR_DIGITS) return false;
  uint64_t digits = 0;
  const char *p = x.digits.p;
  for (size_t i = 0; i < x.count; i++) digits = digits * 10 + next_digit(&p);
  *out = (struct exact_divisor){digits, x.exponent - (int64_t)x.count};
  return true;
}

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t modulus) {
  return (uint64_t)((unsigned __int128)a * b % modulus);
}

static uint64_t power_of_ten(uint64_t exponent, uint64_t modulus) {
  uint64_t result = 1 % modulus, base = 10 % modulus;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, base, modulus);
    base = multiply(base, base, modulus);
  }
  return result;
}

bool exact_multiple(const struct json *v, const struct exact_divisor *divisor) {
  struct json_number x = read_any(v);
  ASSERT(divisor->digits > 0);
  if (!x.count) return true;
  // Let `v` be a * 10^e, where a does not end in a zero. Then `v` is no multiple of a divisor with a larger exponent.
  int64_t shift = x.exponent - (int64_t)x.count - divisor->exponent;
  if (shift < 0) return false;
  uint64_t rest = 0, modulus = divisor->digits;
  const char *p = x.digits.p;
  for (size_t i = 0; i < x.count; i++) rest = (uint64_t)(((unsigned __int128)rest * 10 + next_digit(&p)) % modulus);
  return multiply(rest, power_of_ten((uint64_t)shift, modulus), modulus) == 0;
}

bool exact_count(const struct json *v, uint64_t *out) {
  if (!json_is(v, JSON_NUMBER) || !exact_integer(v)) return false;
  struct json_number x = read_any(v);
  if (x.negative && x.count) return false;
  int64_t n;
  *out = json_int(v, &n) ? (uint64_t)n : UINT64_MAX;
  return true;
}
