// SPDX-License-Identifier: Apache-2.0
#include "text/oneline.h"

#include "base/plain.h"
#include "base/utf8.h"
#include "text/unicode.h"

// Default_Ignorable_Code_Point of Unicode, and the interlinear annotations; in order.
static const struct range {
  uint32_t first, last;
} hidden[] = {
    {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool is_hidden(uint32_t c) {
  if (c < hidden[0].first) return false;
  size_t i = 0, count = sizeof hidden / sizeof *hidden;
  while (i < count && hidden[i].last < c) i++;
  return i < count && hidden[i].first <= c;
}

static bool is_blank(uint32_t c) {
  return c <= ' ' || (c >= 0x7f && c <= 0x9f) || unicode_kind(c) == UNICODE_SPACE;
}

// How much of the text may stay: up to the first character that must change, or the blank before it.
static size_t untouched(str text) {
  bool after_blank = true;
  for (str rest = text; rest.n;) {
    size_t at = text.n - rest.n;
    uint32_t c = utf8_next(&rest);
    bool good = c > ' ' && c < 0x7f;
    if (!good && !(c == ' ' && !after_blank) && (is_blank(c) || is_hidden(c))) return at;
    after_blank = c == ' ';
  }
  return text.n;
}

static str without_last_blank(str s) {
  if (s.n && s.p[s.n - 1] == ' ') s.n--;
  return s;
}

str oneline(struct arena *a, str text) {
  size_t n = untouched(text);
  if (n == text.n) return without_last_blank(text);
  char *out = arena_alloc(a, text.n + 1);
  memcpy(out, text.p, n);
  for (str rest = str_from(text, n); rest.n;) {
    size_t escape = plain_escape(rest);
    rest = str_from(rest, escape);
    if (escape) continue;
    str from = rest;
    uint32_t c = utf8_next(&rest);
    if (is_blank(c)) {
      if (n && out[n - 1] != ' ') out[n++] = ' ';
    } else if (!is_hidden(c)) {
      memcpy(out + n, from.p, from.n - rest.n);
      n += from.n - rest.n;
    }
  }
  out[n] = 0;
  return without_last_blank((str){out, n});
}
