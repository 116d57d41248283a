// SPDX-License-Identifier: Apache-2.0
// Patterns and names from any bytes, with a newline between them: what matches is what a naive matcher says.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "base/text/wildcard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool in_set(str set, uint32_t c) {
  bool negated = set.n && set.p[0] == '!';
  if (negated) set = str_from(set, 1);
  while (set.n) {
    uint32_t low = utf8_next(&set), high = low;
    if (set.n > 1 && set.p[0] == '-') {
      set = str_from(set, 1);
      high = utf8_next(&set);
    }
    if (low <= c && c <= high) return !negated;
  }
  return negated;
}

// Where the set that begins behind a `[` ends; 0: nowhere.
static size_t set_end(str p) {
  for (size_t i = p.n && p.p[0] == '!' ? 2 : 1; i < p.n; i++)
    if (p.p[i] == ']') return i;
  return 0;
}

static bool naive(str p, str t) {
  if (!p.n) return !t.n;
  str rest = str_from(p, 1), tail = t;
  if (p.p[0] == '*') {
    if (naive(rest, t)) return true;
    if (!t.n) return false;
    utf8_next(&tail);
    return naive(p, tail);
  }
  if (!t.n) return false;
  uint32_t c = utf8_next(&tail);
  size_t end = p.p[0] == '[' ? set_end(rest) : 0;
  if (end) return in_set((str){rest.p, end}, c) && naive(str_from(rest, end + 1), tail);
  uint32_t want = utf8_next(&p);
  return (want == '?' || want == c) && naive(p, tail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  enum { STARS = 4 };  // the naive one tries every way to share the text among them
  str pattern, text, all = {(const char *)data, n};
  size_t stars = 0;
  if (n > 64 || !str_cut(all, '\n', &pattern, &text)) return 0;
  for (size_t i = 0; i < pattern.n; i++) stars += pattern.p[i] == '*';
  bool matches = wildcard_match(pattern, text);
  if (stars <= STARS) ASSERT(matches == naive(pattern, text));
  return 0;
}
