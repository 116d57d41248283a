// SPDX-License-Identifier: Apache-2.0
#include "base/text/plain.h"

#include "base/text/utf8.h"

static bool within(str s, size_t at, unsigned char first, unsigned char last) {
  return at < s.n && (unsigned char)s.p[at] >= first && (unsigned char)s.p[at] <= last;
}

// Returns the end of the control sequence whose parameters begin at `at`. The sequence consists of parameter bytes,
// intermediate bytes and, unless the text is truncated, a final byte.
static size_t control_sequence(str s, size_t at) {
  while (within(s, at, 0x30, 0x3f)) at++;
  while (within(s, at, 0x20, 0x2f)) at++;
  return at + within(s, at, 0x40, 0x7e);
}

// Returns the end of a control string, such as a title or a link. Returns 0 if neither BEL nor ESC \ ends the string.
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

// ---- hidden characters

// The hidden characters: the Default_Ignorable_Code_Point characters of Unicode and the interlinear annotation
// characters, in ascending order.
static const struct range {
  uint32_t first, last;
} hidden[] = {
    {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

enum { ZWNJ = 0x200c, ZWJ = 0x200d, KEYCAP = 0x20e3, VS15 = 0xfe0e, VS16 = 0xfe0f, FLAG = 0x1f3f4, CANCEL = 0xe007f };

static bool is_invisible(uint32_t c) {
  if (c < hidden[0].first) return false;
  size_t i = 0, count = sizeof hidden / sizeof *hidden;
  while (i < count && hidden[i].last < c) i++;
  return i < count && hidden[i].first <= c;
}

// Removes the last character from the end of s and returns its code point. Returns 0 if s is empty.
static uint32_t last_of(str *s) {
  size_t n = s->n ? 1 : 0;
  while (n && n < 4 && n < s->n && utf8_follows(s->p[s->n - n])) n++;
  str last = {s->p + s->n - n, n};
  s->n -= n;
  return n ? utf8_next(&last) : 0;
}

static uint32_t first_of(str s) {
  return s.n ? utf8_next(&s) : 0;
}

// Returns whether a zero-width joiner next to c can have a meaning: c is a symbol, or a letter of Hebrew or of a script
// that follows Hebrew in Unicode.
static bool joins(uint32_t c) {
  return c >= 0x0590 && !(c >= 0x2000 && c <= 0x206f) && !is_invisible(c);
}

static bool is_joining(str before, str after) {
  uint32_t c = last_of(&before);
  if (c == VS16) c = last_of(&before);
  return joins(c) && joins(first_of(after));
}

// Returns whether a variation selector between `before` and `after` styles a symbol, which must be the last character
// of `before`. A digit, # or * counts as a symbol only in a keycap.
static bool is_styling(str before, str after) {
  uint32_t c = last_of(&before);
  bool key = (c >= '0' && c <= '9') || c == '#' || c == '*';
  return key ? first_of(after) == KEYCAP : c == 0xa9 || c == 0xae || (c >= 0x203c && joins(c));
}

static bool is_tag(uint32_t c) {
  return (c >= 0xe0030 && c <= 0xe0039) || (c >= 0xe0061 && c <= 0xe007a);
}

// Returns whether the tag character at the start of `rest` belongs to the flag emoji of a region. Such an emoji
// consists of a black flag, three to six letters or digits as tag characters, and a cancel tag.
static bool is_in_flag(str before, str rest) {
  enum { FEWEST = 3, MOST = 6 };
  size_t tags = 0;
  uint32_t c = last_of(&before);
  for (; tags <= MOST && is_tag(c); tags++) c = last_of(&before);
  if (c != FLAG) return false;
  for (c = utf8_next(&rest); tags <= MOST && is_tag(c); tags++) c = rest.n ? utf8_next(&rest) : 0;
  return c == CANCEL && tags >= FEWEST && tags <= MOST;
}

size_t plain_hidden(str before, str rest) {
  if (!rest.n || (unsigned char)rest.p[0] < 0xc2) return 0;
  str after = rest;
  uint32_t c = utf8_next(&after);
  if (!is_invisible(c)) return 0;
  bool needed = false;
  if (c == ZWNJ || c == ZWJ) needed = is_joining(before, after);
  else if (c == VS15 || c == VS16) needed = is_styling(before, after);
  else if (is_tag(c) || c == CANCEL) needed = is_in_flag(before, rest);
  return needed ? 0 : rest.n - after.n;
}

// ---- texts

static bool is_control(uint32_t c) {
  return c < ' ' || (c >= 0x7f && c <= 0x9f);
}

bool plain_may_change(uint32_t c) {
  return c != '\n' && c != '\t' && (is_control(c) || is_invisible(c));
}

// Returns the number of bytes before the first byte that is not printable ASCII, LF or tab.
static size_t printable(str s) {
  size_t i = 0;
  while (i < s.n && (s.p[i] == '\n' || s.p[i] == '\t' || (s.p[i] >= ' ' && s.p[i] < 0x7f))) i++;
  return i;
}

size_t plain_text(str text, bool exact, char *out) {
  size_t made = 0;
  for (str rest = text; rest.n;) {
    size_t run = printable(rest);
    memcpy(out + made, rest.p, run);
    made += run;
    str from = rest = str_from(rest, run);
    if (!rest.n) break;
    size_t gone = plain_escape(rest);
    if (!gone) gone = plain_hidden((str){out, made}, rest);
    rest = str_from(rest, gone);
    if (gone) continue;
    uint32_t c = utf8_next(&rest);
    bool stays = !is_control(c) || (exact ? c < ' ' && c != 0x1b : c == '\r');
    if (stays) memcpy(out + made, from.p, from.n - rest.n);
    if (stays) made += from.n - rest.n;
    if (!exact && c == '\r' && !str_starts(rest, STR("\n"))) out[made - 1] = '\n';
  }
  return made;
}

str plain_copy(struct arena *a, str text, bool exact) {
  if (printable(text) == text.n) return text;
  char *out = arena_alloc(a, text.n + 1);
  size_t n = plain_text(text, exact, out);
  out[n] = 0;
  return str_eq((str){out, n}, text) ? text : (str){out, n};
}

str plain_shortened(struct arena *a, str text, size_t longest) {
  if (!longest || text.n <= longest) return text;
  return arena_printf(a, "%.*s…", STR_ARG(utf8_cut(text, longest)));
}

size_t plain_line(char *text, size_t n) {
  size_t made = 0;
  for (str rest = {text, n}; rest.n;) {
    str from = rest;
    size_t gone = plain_escape(rest);
    if (!gone) gone = plain_hidden((str){text, made}, rest);
    rest = str_from(rest, gone);
    if (gone) continue;
    uint32_t c = utf8_next(&rest);
    bool blank = c <= ' ' || (c >= 0x7f && c <= 0xa0) || c == 0x2028 || c == 0x2029;
    if (!blank) {
      memmove(text + made, from.p, from.n - rest.n);
      made += from.n - rest.n;
    } else if (made && text[made - 1] != ' ') {
      text[made++] = ' ';
    }
  }
  return made && text[made - 1] == ' ' ? made - 1 : made;
}
