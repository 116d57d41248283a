// SPDX-License-Identifier: Apache-2.0
// Arithmetic on numbers as they are written, without rounding.
#pragma once
#include "json/json.h"

// Below, equal to or above 0 as a is to b. Numbers whose exponents cannot be held compare as zero or infinity would.
int exact_compare(const struct json *a, const struct json *b);

// No fraction: 1, 1.0, 10e-1.
bool exact_integer(const struct json *v);

struct exact_divisor {
  uint64_t digits;  // the number is digits * 10^exponent
  int64_t exponent;
};

// False when the number is not above 0, or has more digits than fit (19).
bool exact_divisor(const struct json *v, struct exact_divisor *out);
bool exact_multiple(const struct json *v, const struct exact_divisor *divisor);

// A number of things: an integer that is not negative. What is beyond 64 bits becomes the largest number.
bool exact_count(const struct json *v, uint64_t *out);
