// SPDX-License-Identifier: Apache-2.0
// Arithmetic on numbers as they are written, without rounding.
#pragma once
#include "json/json.h"

// Returns a number below, equal to or above 0, as memcmp does. A number whose exponent does not fit in 64 bits compares
// like zero or infinity.
int exact_compare(const struct json *a, const struct json *b);

// Returns whether a number has no fraction: 1, 1.0, 10e-1.
bool exact_integer(const struct json *v);

struct exact_divisor {
  uint64_t digits;  // the number is digits * 10^exponent
  int64_t exponent;
};

// Returns false if the number is not above 0, or has more than 19 digits.
bool exact_divisor(const struct json *v, struct exact_divisor *out);
bool exact_multiple(const struct json *v, const struct exact_divisor *divisor);

// Reads a non-negative integer; returns false for any other value. Integers above 64 bits become UINT64_MAX.
bool exact_count(const struct json *v, uint64_t *out);
