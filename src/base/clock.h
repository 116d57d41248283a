// SPDX-License-Identifier: Apache-2.0
// The clock: reads monotonic and wall time from a source that tests can replace, and writes times as text.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct clock {
  uint64_t (*mono_ms)(void *ctx);  // monotonic milliseconds; for deadlines
  int64_t (*wall_ms)(void *ctx);   // milliseconds since 1970; for logs
  void *ctx;
};

extern const struct clock clock_system;

static inline uint64_t clock_mono_ms(const struct clock *c) {
  return c->mono_ms(c->ctx);
}
static inline int64_t clock_wall_ms(const struct clock *c) {
  return c->wall_ms(c->ctx);
}

// Returns the monotonic time in microseconds, for measuring durations. A test's clock has a resolution of one
// millisecond.
uint64_t clock_mono_us(const struct clock *c);

// clock_print and clock_print_second write a wall time as ISO 8601 text (UTC), followed by a NUL, and return the length
// of the text. A time outside the years 1970 to 9999 becomes the nearest time in that range. Both functions use no
// locale and no lock, and are fast enough for every log line.
enum { CLOCK_TEXT = 25 };
size_t clock_print(int64_t wall_ms, char out[CLOCK_TEXT]);         // 2025-10-28T10:30:00.123Z
size_t clock_print_second(int64_t wall_ms, char out[CLOCK_TEXT]);  // 2025-10-28T10:30:00Z
