// SPDX-License-Identifier: Apache-2.0
// Finds times and levels in lines of logs.
#include "base/ascii.h"
#include "base/assert.h"
#include "result/summary/content_kind.h"

// A level is near the beginning of a line, after the time and perhaps a name. So only this many bytes and words of a
// line are searched for a level.
enum { LEVEL_BYTES = 120, LEVEL_WORDS = 8 };

// ---- times ----

// Returns the pattern's length if `s` begins with text that matches the pattern, otherwise 0. In a pattern, '0' stands
// for a digit, 'a' for a letter, 'T' for a 'T' or a blank, and every other character for itself.
static size_t match(str s, const char *pattern) {
  size_t i = 0;
  for (; pattern[i]; i++) {
    char c = i < s.n ? s.p[i] : 0;
    bool fits = pattern[i] == '0'   ? ascii_is_digit(c)
                : pattern[i] == 'a' ? ascii_is_letter(c)
                : pattern[i] == 'T' ? c == 'T' || c == ' '
                                    : c == pattern[i];
    if (!fits) return 0;
  }
  return i;
}

// Skips the fraction of a second and the time zone that may follow a time at offset `at`. Returns the offset after
// them.
static size_t time_tail(str s, size_t at) {
  size_t i = at;
  if (i + 1 < s.n && (s.p[i] == '.' || s.p[i] == ',') && ascii_is_digit(s.p[i + 1]))
    for (i++; i < s.n && ascii_is_digit(s.p[i]); i++) {
    }
  if (i < s.n && s.p[i] == 'Z') return i + 1;
  size_t zone = match(str_from(s, i), "+00:00");
  if (!zone) zone = match(str_from(s, i), "-00:00");
  return i + zone;
}

static size_t time_length(str s) {
  static const char *const patterns[] = {
      "0000-00-00T00:00:00",  // ISO 8601, with a T or a blank between date and time
      "0000-00-00T00:00",
      "0000/00/00 00:00:00",
      "aaa 00 00:00:00",
      "aaa  0 00:00:00",
      "00/aaa/0000:00:00:00",  // web servers
      "00/00/0000 00:00:00",
      "a0000 00:00:00",  // klog
      "00:00:00",
  };
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    size_t n = match(s, patterns[i]);
    if (n) return time_tail(s, n);
  }
  return 0;
}

str content_log_time(str line) {
  size_t at = 0;
  while (at < line.n && at < 4 && (line.p[at] == ' ' || line.p[at] == '[' || line.p[at] == '\t')) at++;
  str rest = str_from(line, at);
  size_t n = rest.n && (ascii_is_alnum(*rest.p)) ? time_length(rest) : 0;
  if (n) return (str){rest.p, n};
  if (str_starts(rest, STR("time=\""))) return (str){rest.p + 6, time_length(str_from(rest, 6))};
  // Web servers write the time in brackets, after an address and two dashes.
  const char *open = memchr(line.p, '[', line.n < 100 ? line.n : 100);
  if (!open) return STR_NONE;
  rest = str_from(line, (size_t)(open - line.p) + 1);
  n = match(rest, "00/aaa/0000:00:00:00");
  return n ? (str){rest.p, n} : STR_NONE;
}

// ---- levels ----

struct level_word {
  const char *word;
  enum line_level level;
};

// Words that count as a level if they are in capitals, or next to punctuation (is_marked).
static const struct level_word level_words[] = {
    {"error", LINE_ERROR},   {"err", LINE_ERROR},   {"fatal", LINE_ERROR},     {"critical", LINE_ERROR},
    {"severe", LINE_ERROR},  {"panic", LINE_ERROR}, {"emerg", LINE_ERROR},     {"alert", LINE_ERROR},
    {"failed", LINE_ERROR},  {"fail", LINE_ERROR},  {"exception", LINE_ERROR}, {"warn", LINE_WARN},
    {"warning", LINE_WARN},  {"wrn", LINE_WARN},    {"info", LINE_INFO},       {"notice", LINE_INFO},
    {"inf", LINE_INFO},      {"debug", LINE_DEBUG}, {"trace", LINE_DEBUG},     {"dbg", LINE_DEBUG},
    {"verbose", LINE_DEBUG},
};

static bool same_word(str word, const char *lower, bool *out_capitals) {
  *out_capitals = true;
  for (size_t i = 0; i < word.n; i++) {
    if (!lower[i] || ascii_lower(word.p[i]) != lower[i]) return false;
    if (ascii_is_lower(word.p[i])) *out_capitals = false;
  }
  return lower[word.n] == 0;
}

// Returns whether a character next to a word marks the word as a level: [error], error:, level=error, <error>.
static bool is_marked(str line, size_t begin, size_t end) {
  char before = begin ? line.p[begin - 1] : 0, after = end < line.n ? line.p[end] : 0;
  return before == '[' || before == '=' || before == '<' || before == '"' || before == '|' || after == ':' ||
         after == ']' || after == '!' || (begin == 0 && after == ' ');
}

// Returns whether a word has the first letter and the length of a level's name. This fast check excludes most words.
static bool may_be_level(str word) {
  static const uint32_t initials = 1u << ('e' - 'a') | 1u << ('f' - 'a') | 1u << ('c' - 'a') | 1u << ('s' - 'a') |
                                   1u << ('p' - 'a') | 1u << ('a' - 'a') | 1u << ('w' - 'a') | 1u << ('i' - 'a') |
                                   1u << ('n' - 'a') | 1u << ('d' - 'a') | 1u << ('t' - 'a') | 1u << ('v' - 'a');
  ASSERT(word.n && ascii_is_letter(*word.p));
  return word.n >= 3 && word.n <= 9 && initials >> (ascii_lower(*word.p) - 'a') & 1;
}

// Returns whether a word is the name of an exception. In Python, Java and JavaScript, such names usually end with Error
// or Exception.
static bool names_failure(str line, str word, size_t end) {
  return word.n > 5 && end < line.n && line.p[end] == ':' && ascii_is_upper(*word.p) &&
         (str_ends(word, STR("Error")) || str_ends(word, STR("Exception")));
}

static enum line_level word_level(str line, size_t begin, size_t end) {
  str word = {line.p + begin, end - begin};
  bool capitals;
  for (size_t i = 0; may_be_level(word) && i < sizeof level_words / sizeof *level_words; i++)
    if (same_word(word, level_words[i].word, &capitals))
      return capitals || is_marked(line, begin, end) ? level_words[i].level : LINE_NO_LEVEL;
  return names_failure(line, word, end) ? LINE_ERROR : LINE_NO_LEVEL;
}

// Returns whether a line begins like a failure that a test runner or an interpreter reports.
static bool begins_failure(str line) {
  static const str starts[] = {STR("Traceback (most recent"),
                               STR("not ok "),
                               STR("--- FAIL"),
                               STR("E   "),
                               STR("panic: "),
                               STR("✗ "),
                               STR("✖ "),
                               STR("npm ERR!"),
                               STR("npm error"),
                               STR("thread '")};
  if (!line.n || ascii_is_digit(*line.p)) return false;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (*starts[i].p == *line.p && str_starts(line, starts[i])) return true;
  return false;
}

// Returns the level of a line of Go's klog, such as "I0102 15:04:05", in which the first letter is the level.
static enum line_level klog_level(str line) {
  if (!match(line, "a0000 00:00:00")) return LINE_NO_LEVEL;
  switch (*line.p) {
  case 'I': return LINE_INFO;
  case 'W': return LINE_WARN;
  case 'E':
  case 'F': return LINE_ERROR;
  default: return LINE_NO_LEVEL;
  }
}

enum line_level content_log_level(str line) {
  if (begins_failure(line)) return LINE_ERROR;
  enum line_level level = klog_level(line);
  str near = {line.p, line.n < LEVEL_BYTES ? line.n : LEVEL_BYTES};
  size_t at = 0;
  for (size_t words = 0; !level && at < near.n && words < LEVEL_WORDS; words++) {
    while (at < near.n && !ascii_is_letter(near.p[at])) at++;
    size_t begin = at;
    while (at < near.n && ascii_is_alnum(near.p[at])) at++;
    if (at > begin && at - begin < 40) level = word_level(near, begin, at);
  }
  return level;
}
