// SPDX-License-Identifier: Apache-2.0
// Dates in HTTP headers (RFC 9110, 5.6.7).
#pragma once
#include "base/clock.h"
#include "base/str.h"

// Parses a date to milliseconds since 1970. Accepts three forms: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94
// 08:49:37 GMT" (a year of this century) and "Sun Nov  6 08:49:37 1994". Returns false for everything else. Does not
// check the name of the day.
bool http_date(str text, int64_t *out_ms);

// Returns how long a Retry-After value asks to wait, in milliseconds, at most a day. The value is a number of seconds
// or a date. Returns 0 if it is malformed or if the date has passed.
uint64_t http_retry_after(str value, const struct clock *clock);
