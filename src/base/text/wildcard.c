// SPDX-License-Identifier: Apache-2.0
#include "base/text/wildcard.h"

#include "base/text/utf8.h"

// Reads a set of characters that follows a `[`. Returns false if its `]` is missing. If the first character of the set
// is `]`, this `]` does not end the set.
static bool cut_set(str pattern, str *out_set, str *out_rest) {
  size_t first = pattern.n && pattern.p[0] == '!' ? 2 : 1;
  if (first >= pattern.n) return false;
  const char *end = memchr(pattern.p + first, ']', pattern.n - first);
  if (!end) return false;
  *out_set = (str){pattern.p, (size_t)(end - pattern.p)};
  *out_rest = str_from(pattern, out_set->n + 1);
  return true;
}

static bool is_in(str set, uint32_t c) {
  bool negated = set.n && set.p[0] == '!', found = false;
  if (negated) set = str_from(set, 1);
  while (set.n) {
    uint32_t low = utf8_next(&set), high = low;
    if (set.n > 1 && set.p[0] == '-') {
      set = str_from(set, 1);
      high = utf8_next(&set);
    }
    found |= low <= c && c <= high;
  }
  return found != negated;
}

// Removes the next character from both `pattern` and `text` if they match.
static bool take(str *pattern, str *text) {
  str p = *pattern, t = *text, set, rest;
  if (!p.n || !t.n) return false;
  uint32_t want = utf8_next(&p), c = utf8_next(&t);
  bool has_set = want == '[' && cut_set(p, &set, &rest);
  if (has_set ? !is_in(set, c) : want != '?' && want != c) return false;
  *pattern = has_set ? rest : p;
  *text = t;
  return true;
}

// After a mismatch, only the last star is tried with a longer run of characters, as in glob_match.
bool wildcard_match(str pattern, str text) {
  str star = STR_NONE, from = STR_NONE;
  while (text.n) {
    if (pattern.n && pattern.p[0] == '*') {
      star = pattern = str_from(pattern, 1);
      from = text;
    } else if (!take(&pattern, &text)) {
      if (!star.p) return false;
      utf8_next(&from);
      pattern = star;
      text = from;
    }
  }
  while (pattern.n && pattern.p[0] == '*') pattern = str_from(pattern, 1);
  return !pattern.n;
}
