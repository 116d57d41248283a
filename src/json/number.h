// SPDX-License-Identifier: Apache-2.0
// Exact JSON numbers: sign, digits and exponent without rounding.
#pragma once
#include "json/json.h"

// The number ±0.DDD * 10^exponent, where DDD are the digits.
struct json_number {
  bool negative;
  str digits;    // the source text from the first to the last significant digit; may contain a decimal point
  size_t count;  // number of significant digits; 0 if the number is zero
  int64_t exponent;
};

// Reads a number. Returns false if the exponent has too many digits.
bool json_number_read(const struct json *v, struct json_number *out);

bool json_number_same(const struct json *a, const struct json *b);

// Returns whether the whole text is one JSON number.
bool json_number_is(str text);

// Reads a short number: at most fifteen digits, with or without a decimal point, but without an exponent. Nearly all
// numbers are short. *out is the nearest double. The order of two short numbers is that of their doubles. Returns false
// for any other text.
bool json_number_short(str text, double *out);
