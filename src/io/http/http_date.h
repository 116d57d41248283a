// SPDX-License-Identifier: Apache-2.0
// Dates in headers of HTTP (RFC 9110, 5.6.7).
#pragma once
#include "base/clock.h"
#include "base/str.h"

// Milliseconds since 1970. All three forms are read: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"
// (a year of this century) and "Sun Nov  6 08:49:37 1994". False for everything else; the name of the day is not looked
// at.
bool http_date(str text, int64_t *out_ms);

// How long Retry-After asks to wait, in milliseconds: seconds, or a date on the clock. At most a day; 0 when it says
// nothing that can be read, or a date that is over.
uint64_t http_retry_after(str value, const struct clock *clock);
