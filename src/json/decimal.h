// SPDX-License-Identifier: Apache-2.0
// Writes doubles in the fewest decimal digits that read back as the same double.
#pragma once
#include "base/buf.h"

// Writes a double like ECMAScript's Number::toString: 1, 0.000001, 1e-7, 100000000000000000000, 1e+21. Writes -0 as 0.
void json_decimal_ecmascript(struct buf *out, double finite);

// Writes a double like Python's repr: 1.0, 1e-05, 1e+16, -0.0.
void json_decimal_python(struct buf *out, double finite);
