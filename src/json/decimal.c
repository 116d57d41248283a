// SPDX-License-Identifier: Apache-2.0
#include "json/decimal.h"

#include "base/assert.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// The number 0.DDD * 10^point, where DDD are the digits.
struct decimal {
  char digits[20];
  int count, point;
};

static bool reads_back(const struct decimal *x, double d) {
  char text[40];
  snprintf(text, sizeof text, "0.%.*se%d", x->count, x->digits, x->point);
  return strtod(text, NULL) == d;
}

static void trim_zeros(struct decimal *x) {
  while (x->count > 1 && x->digits[x->count - 1] == '0') x->count--;
}

// Rounds d > 0 to `count` significant digits.
static struct decimal round_to(double d, int count) {
  ASSERT(d > 0 && count > 0 && count <= 17);
  char text[40];  // in the format of %e: 1.234e-56
  snprintf(text, sizeof text, "%.*e", count - 1, d);
  struct decimal x = {.count = count, .point = 1 + (int)strtol(strchr(text, 'e') + 1, NULL, 10)};
  x.digits[0] = text[0];
  if (count > 1) memcpy(x.digits + 1, text + 2, (size_t)count - 1);
  return x;
}

// Replaces `x` by the next larger number with the same number of digits.
static void step_up(struct decimal *x) {
  int i = x->count - 1;
  while (i >= 0 && x->digits[i] == '9') x->digits[i--] = '0';
  if (i >= 0) {
    x->digits[i]++;
    return;
  }
  x->digits[0] = '1';
  x->point++;
}

static struct decimal shortest(double d) {
  // A normal double preserves every number of up to 15 digits, so the search can start at 15 digits. If fewer digits
  // are enough, the last digits are zeros, which are removed.
  for (int count = d < DBL_MIN ? 1 : 15; count < 17; count++) {
    struct decimal x = round_to(d, count);
    bool found = reads_back(&x, d);
    if (!found) {
      // The gap between doubles is larger above a power of two than below it. So even if the decimal number nearest to
      // `d` does not read back as `d`, the next larger decimal number may.
      step_up(&x);
      found = reads_back(&x, d);
    }
    trim_zeros(&x);
    if (found) return x;
  }
  return round_to(d, 17);
}

static void put_zeros(struct buf *out, int n) {
  while (n-- > 0) buf_char(out, '0');
}

static void put_plain(struct buf *out, const struct decimal *x) {
  if (x->point <= 0) {
    buf_str(out, STR("0."));
    put_zeros(out, -x->point);
    buf_add(out, x->digits, (size_t)x->count);
    return;
  }
  int whole = x->point < x->count ? x->point : x->count;
  buf_add(out, x->digits, (size_t)whole);
  put_zeros(out, x->point - whole);
  if (whole == x->count) return;
  buf_char(out, '.');
  buf_add(out, x->digits + whole, (size_t)(x->count - whole));
}

static void put_scientific(struct buf *out, const struct decimal *x, int exponent_width) {
  buf_char(out, x->digits[0]);
  if (x->count > 1) buf_char(out, '.');
  buf_add(out, x->digits + 1, (size_t)x->count - 1);
  int e = x->point - 1;
  buf_printf(out, "e%c%0*d", e < 0 ? '-' : '+', exponent_width, abs(e));
}

void json_decimal_ecmascript(struct buf *out, double finite) {
  ASSERT(isfinite(finite));
  if (finite == 0) {
    buf_char(out, '0');
    return;
  }
  if (finite < 0) buf_char(out, '-');
  struct decimal x = shortest(fabs(finite));
  if (x.point > -6 && x.point <= 21) put_plain(out, &x);
  else put_scientific(out, &x, 1);
}

void json_decimal_python(struct buf *out, double finite) {
  ASSERT(isfinite(finite));
  if (signbit(finite)) buf_char(out, '-');
  if (finite == 0) {
    buf_str(out, STR("0.0"));
    return;
  }
  struct decimal x = shortest(fabs(finite));
  if (x.point <= -4 || x.point > 16) {
    put_scientific(out, &x, 2);
    return;
  }
  put_plain(out, &x);
  if (x.count <= x.point) buf_str(out, STR(".0"));
}
