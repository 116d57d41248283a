// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <stdbool.h>
#include <time.h>

#include "base/assert.h"

static int64_t read_ms(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static uint64_t system_mono(void *ctx) {
  (void)ctx;
  return (uint64_t)read_ms(CLOCK_MONOTONIC);
}
static int64_t system_wall(void *ctx) {
  (void)ctx;
  return read_ms(CLOCK_REALTIME);
}

const struct clock clock_system = {system_mono, system_wall, 0};

uint64_t clock_mono_us(const struct clock *c) {
  struct timespec t;
  if (c->mono_ms != system_mono) return 1000 * clock_mono_ms(c);
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

// ---- as text

// Writes `value` with `width` digits, followed by the character `then`. Returns the position after it.
static char *put_digits(char *out, int64_t value, int width, char then) {
  for (int i = width; i-- > 0; value /= 10) out[i] = (char)('0' + value % 10);
  out[width] = then;
  return out + width + 1;
}

// Writes the Gregorian date of a day, given as the number of days since 1970-01-01. The calculation uses periods of 400
// years that begin in March, so that a leap day is the last day of its year.
static char *put_date(char *out, int64_t days) {
  enum { ERA = 146097, BEFORE_1970 = 719468 };
  int64_t since = days + BEFORE_1970, era = since / ERA, of_era = since % ERA;
  int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  bool next = month >= 10;  // `month` 0 is March, so months 10 and 11 are in the next year
  out = put_digits(out, year + 400 * era + next, 4, '-');
  out = put_digits(out, next ? month - 9 : month + 3, 2, '-');
  return put_digits(out, of_year - (153 * month + 2) / 5 + 1, 2, 'T');
}

static char *put_time(char *out, int64_t ms, char then) {
  ASSERT(ms >= 0);
  int64_t second = ms / 1000;
  out = put_date(out, second / 86400);
  out = put_digits(out, second % 86400 / 3600, 2, ':');
  out = put_digits(out, second % 3600 / 60, 2, ':');
  return put_digits(out, second % 60, 2, then);
}

static int64_t within(int64_t ms) {
  static const int64_t last = 253402300799999;
  return ms < 0 ? 0 : ms > last ? last : ms;
}

size_t clock_print(int64_t wall_ms, char out[CLOCK_TEXT]) {
  int64_t ms = within(wall_ms);
  char *end = put_digits(put_time(out, ms, '.'), ms % 1000, 3, 'Z');
  ASSERT(end == out + CLOCK_TEXT - 1);
  *end = 0;
  return (size_t)(end - out);
}

size_t clock_print_second(int64_t wall_ms, char out[CLOCK_TEXT]) {
  char *end = put_time(out, within(wall_ms), 'Z');
  *end = 0;
  return (size_t)(end - out);
}
