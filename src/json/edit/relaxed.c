// SPDX-License-Identifier: Apache-2.0
#include "json/edit/relaxed.h"

#include "base/assert.h"

// Returns the length of the comment that begins at `at`, or 0 if no complete comment begins there.
static size_t comment_length(str text, size_t at) {
  str rest = str_from(text, at);
  if (str_starts(rest, STR("//"))) {
    const char *end = memchr(rest.p, '\n', rest.n);
    return end ? (size_t)(end - rest.p) : rest.n;
  }
  if (!str_starts(rest, STR("/*"))) return 0;
  const char *end = memmem(rest.p + 2, rest.n - 2, "*/", 2);
  return end ? (size_t)(end - rest.p) + 2 : 0;
}

static bool is_white(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t json_skip_blank(str text, size_t at) {
  ASSERT(at <= text.n);
  while (at < text.n) {
    size_t n = is_white(text.p[at]) ? 1 : comment_length(text, at);
    if (!n) break;
    at += n;
  }
  return at;
}

// Returns the offset after the closing quote of the string that begins at `at`.
static size_t skip_string(str text, size_t at) {
  for (at++; at < text.n && text.p[at] != '"'; at++)
    if (text.p[at] == '\\') at++;
  return at < text.n ? at + 1 : text.n;
}

// Returns whether the comma is a trailing comma: it follows a value, and a closing bracket follows the comma.
static bool is_surplus(str text, size_t comma, char before) {
  if (before == '[' || before == '{' || before == ',' || before == ':') return false;
  size_t next = json_skip_blank(text, comma + 1);
  return next < text.n && (text.p[next] == '}' || text.p[next] == ']');
}

void json_relax(char *text, size_t n) {
  str all = {text, n};
  char before = '[';  // the last byte that is neither white space nor in a comment
  if (str_starts(all, STR("\xef\xbb\xbf"))) memset(text, ' ', 3);
  for (size_t at = 0, length; at < n;) {
    if (text[at] == '"') {
      before = '"';
      at = skip_string(all, at);
    } else if ((length = comment_length(all, at))) {
      for (; length; length--, at++)
        if (text[at] != '\n' && text[at] != '\r') text[at] = ' ';
    } else if (str_starts(str_from(all, at), STR("/*"))) {
      return;  // the comment has no end, so the parser will reject the text
    } else {
      char c = text[at];
      if (c == ',' && is_surplus(all, at, before)) text[at] = ' ';
      else if (!is_white(c)) before = c;
      at++;
    }
  }
}
