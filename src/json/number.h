// SPDX-License-Identifier: Apache-2.0
// Numbers taken apart without rounding.
#pragma once
#include "json/json.h"

// sign, digits, exponent: 0.DDD * 10^exponent
struct json_number {
  bool negative;
  str digits;    // from the first significant digit to the last one; one decimal point may stand between
  size_t count;  // significant digits; 0 means zero
  int64_t exponent;
};

// False when the exponent has so many digits that it cannot be held.
bool json_number_read(const struct json *v, struct json_number *out);

bool json_number_same(const struct json *a, const struct json *b);

// All of the text is one number, as JSON writes them.
bool json_number_is(str text);

// What nearly all numbers are: at most fifteen digits, with a point perhaps, and no exponent. As the double that is
// nearest, so that the order of two of them is that of the doubles. False for everything else, also what is no number.
bool json_number_short(str text, double *out);
