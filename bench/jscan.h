// SPDX-License-Identifier: Apache-2.0
// Finds members and elements in JSON text by byte range, without memory and without checking everything.
// The load generator and the benchmark's upstreams use it, so that neither is the bottleneck, and so that the
// gateway's answers are read by code that is not the gateway's.
#pragma once
#include "base/str.h"

static inline size_t jscan_blanks(str s, size_t at) {
  while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t' || s.p[at] == '\n' || s.p[at] == '\r')) at++;
  return at;
}

// One past the end of the string whose opening quote is at `at`; 0 when it has no end.
static inline size_t jscan_string_end(str s, size_t at) {
  for (at++; at < s.n;) {
    const char *quote = memchr(s.p + at, '"', s.n - at);
    if (!quote) return 0;
    size_t end = (size_t)(quote - s.p), slashes = 0;
    while (end - slashes > at && s.p[end - slashes - 1] == '\\') slashes++;
    if (slashes % 2 == 0) return end + 1;
    at = end + 1;
  }
  return 0;
}

static inline size_t jscan_container_end(str s, size_t at) {
  for (int depth = 0; at < s.n;) {
    char c = s.p[at];
    if (c == '"') {
      if (!(at = jscan_string_end(s, at))) return 0;
      continue;
    }
    if (c == '{' || c == '[') depth++;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
    at++;
  }
  return 0;
}

// One past the end of the value that starts at `at`; 0 when it has no end.
static inline size_t jscan_value_end(str s, size_t at) {
  if (at >= s.n) return 0;
  if (s.p[at] == '"') return jscan_string_end(s, at);
  if (s.p[at] == '{' || s.p[at] == '[') return jscan_container_end(s, at);
  while (at < s.n && !strchr(",}] \t\r\n", s.p[at])) at++;
  return at;
}

// The text of the member with this key, which has no escapes; STR_NONE when there is none.
static inline str jscan_get(str object, str key) {
  size_t at = jscan_blanks(object, 0);
  if (at >= object.n || object.p[at] != '{') return STR_NONE;
  at = jscan_blanks(object, at + 1);
  while (at < object.n && object.p[at] == '"') {
    size_t key_end = jscan_string_end(object, at);
    if (!key_end) return STR_NONE;
    str name = {object.p + at + 1, key_end - at - 2};
    at = jscan_blanks(object, key_end);
    if (at >= object.n || object.p[at] != ':') return STR_NONE;
    at = jscan_blanks(object, at + 1);
    size_t end = jscan_value_end(object, at);
    if (!end) return STR_NONE;
    if (str_eq(name, key)) return (str){object.p + at, end - at};
    at = jscan_blanks(object, end);
    if (at < object.n && object.p[at] == ',') at = jscan_blanks(object, at + 1);
  }
  return STR_NONE;
}

// The first element of an array; STR_NONE when there is none.
static inline str jscan_first(str array) {
  size_t at = jscan_blanks(array, 0);
  if (at >= array.n || array.p[at] != '[') return STR_NONE;
  at = jscan_blanks(array, at + 1);
  if (at >= array.n || array.p[at] == ']') return STR_NONE;
  size_t end = jscan_value_end(array, at);
  return end ? (str){array.p + at, end - at} : STR_NONE;
}

// Is the value this string, which has no escapes?
static inline bool jscan_is(str value, str text) {
  return value.n == text.n + 2 && value.p[0] == '"' && memcmp(value.p + 1, text.p, text.n) == 0;
}
