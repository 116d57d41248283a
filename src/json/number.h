// SPDX-License-Identifier: Apache-2.0
// Exact JSON numbers: sign, digits and exponent without rounding.
#pragma once
#include "json/json.h"

// The number ±0.DDD * 10^exponent.
struct json_number {
  bool negative;
  str digits;    // text from the first to the last significant digit, perhaps with a decimal point in it
  size_t count;  // significant digits; 0 means zero
  int64_t exponent;
};

// False if the exponent has too many digits.
bool json_number_read(const struct json *v, struct json_number *out);

bool json_number_same(const struct json *a, const struct json *b);

// Returns whether the whole text is one JSON number.
bool json_number_is(str text);

// Reads a short number, as nearly all are: at most fifteen digits, perhaps a point, no exponent. *out is the nearest
// double, so short numbers compare like their doubles. False for any other text.
bool json_number_short(str text, double *out);
