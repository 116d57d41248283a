// SPDX-License-Identifier: Apache-2.0
// Time is asked of a clock that tests can replace.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct clock {
  uint64_t (*mono_ms)(void *ctx);  // never goes back; for deadlines
  int64_t (*wall_ms)(void *ctx);   // since 1970; for logs
  void *ctx;
};

extern const struct clock clock_system;

static inline uint64_t clock_mono_ms(const struct clock *c) {
  return c->mono_ms(c->ctx);
}
static inline int64_t clock_wall_ms(const struct clock *c) {
  return c->wall_ms(c->ctx);
}

// The first of them in microseconds, as fine as the clock is: for measuring how long something took.
uint64_t clock_mono_us(const struct clock *c);

// A wall time as ISO 8601 has it, in UTC, with a zero behind it; gives its length. What is not of the years 1970 to
// 9999 is the nearest that is. For lines that come by the thousand: it knows no locale and takes no lock.
enum { CLOCK_TEXT = 25 };
size_t clock_print(int64_t wall_ms, char out[CLOCK_TEXT]);         // 2025-10-28T10:30:00.123Z
size_t clock_print_second(int64_t wall_ms, char out[CLOCK_TEXT]);  // 2025-10-28T10:30:00Z
