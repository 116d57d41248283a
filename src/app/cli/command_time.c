// SPDX-License-Identifier: Apache-2.0
// Parses the times of options such as --since.
#include <time.h>

#include "app/cli/command.h"
#include "base/ascii.h"
#include "base/assert.h"

static bool digits(str *s, size_t n, int *out) {
  ASSERT(n <= 9);  // nine digits fit in an int
  uint64_t v;
  if (s->n < n || !str_to_u64((str){s->p, n}, &v)) return false;
  *out = (int)v;
  *s = str_from(*s, n);
  return true;
}

static bool skip(str *s, char c) {
  if (!s->n || s->p[0] != c) return false;
  *s = str_from(*s, 1);
  return true;
}

// Parses a time zone, such as Z or +01:00. An empty text means Z.
static bool offset(str *s, int *out_minutes) {
  int hours, minutes, sign = s->n && s->p[0] == '-' ? -1 : 1;
  *out_minutes = 0;
  if (!s->n || skip(s, 'Z')) return true;
  if (!skip(s, '+') && !skip(s, '-')) return false;
  if (!digits(s, 2, &hours) || !skip(s, ':') || !digits(s, 2, &minutes)) return false;
  *out_minutes = sign * (60 * hours + minutes);
  return true;
}

// Parses a fraction of a second, such as .812, into milliseconds. Digits after the third are ignored.
static bool fraction(str *s, int *out_ms) {
  int digit, scale = 100;
  if (!skip(s, '.')) return true;
  if (!s->n || !digits(s, 1, &digit)) return false;
  do *out_ms += digit * scale, scale /= 10;
  while (s->n && ascii_is_digit(s->p[0]) && digits(s, 1, &digit));
  return true;
}

static bool clock_time(str *s, struct tm *tm, int *out_ms) {
  if (!s->n) return true;
  if (!skip(s, 'T') && !skip(s, ' ')) return false;
  if (!digits(s, 2, &tm->tm_hour) || !skip(s, ':') || !digits(s, 2, &tm->tm_min)) return false;
  if (skip(s, ':') && (!digits(s, 2, &tm->tm_sec) || !fraction(s, out_ms))) return false;
  return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec <= 60;
}

bool command_time(const char *said, int64_t *out_ms) {
  struct tm tm = {0};
  str s = str_of(said);
  uint64_t seconds;
  int minutes, ms = 0;
  if (str_to_u64(s, &seconds)) {
    *out_ms = (int64_t)(seconds * 1000);
    return seconds < INT64_MAX / 1000;
  }
  if (!digits(&s, 4, &tm.tm_year) || !skip(&s, '-') || !digits(&s, 2, &tm.tm_mon) || !skip(&s, '-') ||
      !digits(&s, 2, &tm.tm_mday) || !clock_time(&s, &tm, &ms) || !offset(&s, &minutes) || s.n)
    return false;
  if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31) return false;
  tm.tm_year -= 1900;
  tm.tm_mon--;
  *out_ms = ((int64_t)timegm(&tm) - 60 * minutes) * 1000 + ms;
  return true;
}
