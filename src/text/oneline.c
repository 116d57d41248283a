// SPDX-License-Identifier: Apache-2.0
#include "text/oneline.h"

#include "base/assert.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "text/unicode.h"

static bool is_blank(uint32_t c) {
  return c <= ' ' || (c >= 0x7f && c <= 0x9f) || unicode_kind(c) == UNICODE_SPACE;
}

// Returns the length of the beginning of the text that stays unchanged. It ends before the first character that must be
// changed or removed.
static size_t untouched(str text) {
  bool after_blank = true;
  for (str rest = text; rest.n;) {
    size_t at = text.n - rest.n;
    uint32_t c = utf8_next(&rest);
    bool good = c > ' ' && c < 0x7f;
    if (!good && !(c == ' ' && !after_blank) && (is_blank(c) || plain_hidden((str){text.p, at}, str_from(text, at))))
      return at;
    after_blank = c == ' ';
  }
  return text.n;
}

static str without_last_blank(str s) {
  if (s.n && s.p[s.n - 1] == ' ') s.n--;
  return s;
}

str oneline(struct arena *a, str text) {
  ASSERT(a);
  size_t n = untouched(text);
  if (n == text.n) return without_last_blank(text);
  char *out = arena_alloc(a, text.n + 1);
  memcpy(out, text.p, n);
  for (str rest = str_from(text, n); rest.n;) {
    size_t gone = plain_escape(rest);
    if (!gone) gone = plain_hidden((str){out, n}, rest);
    rest = str_from(rest, gone);
    if (gone) continue;
    str from = rest;
    uint32_t c = utf8_next(&rest);
    if (is_blank(c)) {
      if (n && out[n - 1] != ' ') out[n++] = ' ';
    } else {
      memcpy(out + n, from.p, from.n - rest.n);
      n += from.n - rest.n;
    }
  }
  out[n] = 0;
  return without_last_blank((str){out, n});
}
