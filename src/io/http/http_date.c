// SPDX-License-Identifier: Apache-2.0
#include "io/http/http_date.h"

#include <time.h>

#include "base/ascii.h"

enum { DAY_MS = 24 * 3600 * 1000, WORDS = 6 };

// Splits a date at blanks, commas and hyphens. Returns the number of words (WORDS + 1 if there are more), or 0 if the
// date contains another character.
static size_t split(str text, str words[WORDS + 1]) {
  size_t count = 0;
  for (size_t i = 0; i < text.n && count <= WORDS;) {
    size_t begin = i;
    while (i < text.n && (ascii_is_alnum(text.p[i]) || text.p[i] == ':')) i++;
    if (i > begin) words[count++] = (str){text.p + begin, i - begin};
    else if (strchr(" ,-", text.p[i]) && text.p[i]) i++;
    else return 0;
  }
  return count;
}

static bool number(str word, uint64_t max, int *out) {
  uint64_t v;
  if (word.n > 4 || !str_to_u64(word, &v) || v > max) return false;
  *out = (int)v;
  return true;
}

static bool month(str word, int *out) {
  static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (int i = 0; i < 12 && word.n == 3; i++)
    if (str_eq_nocase(word, (str){names + 3 * i, 3})) {
      *out = i;
      return true;
    }
  return false;
}

// Parses a time such as 08:49:37.
static bool time_of_day(str word, struct tm *out) {
  str hour, minute, second, rest;
  if (!str_cut(word, ':', &hour, &rest) || !str_cut(rest, ':', &minute, &second)) return false;
  return number(hour, 23, &out->tm_hour) && number(minute, 59, &out->tm_min) && number(second, 60, &out->tm_sec);
}

bool http_date(str text, int64_t *out_ms) {
  struct tm tm = {0};
  str words[WORDS + 1];
  size_t count = split(text, words);
  bool old = count == 5;  // the form "Sun Nov  6 08:49:37 1994" has five words: it has no time zone
  if (!old && (count != WORDS || !str_eq(words[5], STR("GMT")))) return false;
  str day = words[old ? 2 : 1], name = words[old ? 1 : 2], year = words[old ? 4 : 3], clock = words[old ? 3 : 4];
  if (!number(day, 31, &tm.tm_mday) || !tm.tm_mday || !month(name, &tm.tm_mon) || !time_of_day(clock, &tm))
    return false;
  if ((year.n != 4 && year.n != 2) || !number(year, 9999, &tm.tm_year)) return false;
  tm.tm_year += year.n == 2 ? 100 : -1900;
  *out_ms = (int64_t)timegm(&tm) * 1000;
  return true;
}

uint64_t http_retry_after(str value, const struct clock *clock) {
  uint64_t seconds;
  int64_t at;
  if (str_to_u64(value, &seconds)) return seconds < DAY_MS / 1000 ? seconds * 1000 : DAY_MS;
  if (!http_date(value, &at)) return 0;
  int64_t left = at - clock_wall_ms(clock);
  return left <= 0 ? 0 : left < DAY_MS ? (uint64_t)left : DAY_MS;
}
