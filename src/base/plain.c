// SPDX-License-Identifier: Apache-2.0
#include "base/plain.h"

#include "base/utf8.h"

static bool within(str s, size_t at, unsigned char first, unsigned char last) {
  return at < s.n && (unsigned char)s.p[at] >= first && (unsigned char)s.p[at] <= last;
}

// Parameters, intermediates and a final byte. One that is cut off is one all the same.
static size_t control_sequence(str s, size_t at) {
  while (within(s, at, 0x30, 0x3f)) at++;
  while (within(s, at, 0x20, 0x2f)) at++;
  return at + within(s, at, 0x40, 0x7e);
}

// A title, a link or the like: up to BEL or ESC \. Without that end it is none.
static size_t control_string(str s, size_t at) {
  while (at < s.n && (unsigned char)s.p[at] >= ' ' && s.p[at] != 0x7f) at++;
  if (within(s, at, 0x07, 0x07)) return at + 1;
  return within(s, at, 0x1b, 0x1b) && within(s, at + 1, '\\', '\\') ? at + 2 : 0;
}

size_t plain_escape(str s) {
  if (within(s, 0, 0xc2, 0xc2) && within(s, 1, 0x9b, 0x9b)) return control_sequence(s, 2);
  if (s.n < 2 || s.p[0] != 0x1b) return 0;
  switch (s.p[1]) {
  case '[': return control_sequence(s, 2);
  case ']':
  case 'P':
  case 'X':
  case '^':
  case '_': return control_string(s, 2);
  case '(':
  case ')':
  case '*':
  case '+': return within(s, 2, 0x30, 0x7e) ? 3 : 0;
  default: return 0;
  }
}

static bool is_blank(uint32_t c) {
  return c <= ' ' || (c >= 0x7f && c <= 0xa0) || c == 0x2028 || c == 0x2029;
}

size_t plain_line(char *text, size_t n) {
  size_t made = 0;
  for (str rest = {text, n}; rest.n;) {
    str from = rest;
    size_t escape = plain_escape(rest);
    rest = str_from(rest, escape);
    if (escape) continue;
    if (!is_blank(utf8_next(&rest))) {
      memmove(text + made, from.p, from.n - rest.n);
      made += from.n - rest.n;
    } else if (made && text[made - 1] != ' ') {
      text[made++] = ' ';
    }
  }
  return made && text[made - 1] == ' ' ? made - 1 : made;
}
