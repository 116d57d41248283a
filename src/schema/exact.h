// SPDX-License-Identifier: Apache-2.0
// Exact arithmetic on JSON numbers, without rounding.
#pragma once
#include "json/json.h"

// Compares two numbers. Returns a value below 0, equal to 0, or above 0, like memcmp. A number whose exponent does not
// fit in 64 bits is treated like zero or infinity.
int exact_compare(const struct json *a, const struct json *b);

// Returns whether a number is an integer. For example, 1, 1.0 and 10e-1 are integers.
bool exact_integer(const struct json *v);

struct exact_divisor {
  uint64_t digits;  // the divisor is digits * 10^exponent
  int64_t exponent;
};

// Prepares a number as a divisor for exact_multiple. Returns false if the number is not above 0 or has more than 19
// digits.
bool exact_divisor(const struct json *v, struct exact_divisor *out);
bool exact_multiple(const struct json *v, const struct exact_divisor *divisor);

// Reads a non-negative integer. Returns false for any other value. Sets *out to UINT64_MAX if the integer does not fit
// in 64 bits.
bool exact_count(const struct json *v, uint64_t *out);
