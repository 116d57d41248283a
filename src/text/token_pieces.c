// SPDX-License-Identifier: Apache-2.0
#include "text/token_pieces.h"

#include "text/unicode.h"

enum kind {
  OTHER = UNICODE_OTHER,
  LETTER = UNICODE_LETTER,
  NUMBER = UNICODE_NUMBER,
  SPACE = UNICODE_SPACE,
  NEWLINE,  // carriage return or line feed, which are also white space
  WIDE,     // a byte of a multi-byte character; a table has the character's kind
};

static const uint8_t kind_of_byte[256] = {
    ['\t'] = SPACE, ['\n'] = NEWLINE,       ['\v'] = SPACE,         ['\f'] = SPACE,         ['\r'] = NEWLINE,
    [' '] = SPACE,  ['0' ... '9'] = NUMBER, ['A' ... 'Z'] = LETTER, ['a' ... 'z'] = LETTER, [0x80 ... 0xff] = WIDE,
};

struct piece_reader {
  const char *p, *end;
  bool broken;
};

// Returns whether a character of three bytes begins at p. This check is fast, but returns false for some rare
// characters.
static inline bool is_three(const unsigned char *p, size_t n) {
  return n >= 3 && p[0] > 0xe0 && p[0] < 0xf0 && p[0] != 0xed && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80;
}

static enum kind read_wide(struct piece_reader *r, size_t *out_len) {
  const unsigned char *p = (const unsigned char *)r->p;
  if (is_three(p, (size_t)(r->end - r->p))) {
    *out_len = 3;
    return (enum kind)unicode_kind((p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu));
  }
  bool valid;
  uint32_t c = unicode_read(r->p, (size_t)(r->end - r->p), out_len, &valid);
  r->broken |= !valid;
  return (enum kind)unicode_kind(c);
}

// Returns the kind of the next character, and sets *out_len to the character's length. There must be a next character.
static inline enum kind look(struct piece_reader *r, size_t *out_len) {
  enum kind kind = (enum kind)kind_of_byte[(unsigned char)*r->p];
  *out_len = 1;
  return kind == WIDE ? read_wide(r, out_len) : kind;
}

static inline bool next_is(struct piece_reader *r, enum kind kind) {
  size_t len;
  return r->p < r->end && look(r, &len) == kind;
}

static inline void skip_run(struct piece_reader *r, enum kind kind) {
  for (size_t len; r->p < r->end && look(r, &len) == kind;) r->p += len;
}

static void skip_numbers(struct piece_reader *r) {
  size_t len;
  for (int i = 0; i < 3 && r->p < r->end && look(r, &len) == NUMBER; i++) r->p += len;
}

// Returns the length of the part of a contraction after its apostrophe, such as "ll" at p, or 0 if there is no
// contraction.
static size_t contraction(const char *p, size_t n) {
  char a = n > 0 ? (char)(p[0] | 0x20) : 0, b = n > 1 ? (char)(p[1] | 0x20) : 0;
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 1;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 2;
  return n > 1 && p[0] == '\xc5' && p[1] == '\xbf' ? 2 : 0;  // long s, U+017F
}

// Skips a piece of white space. If the white space contains newlines, the piece ends after the last newline. If it
// contains none and reaches the end of the text, the piece is all of it. Otherwise the piece ends before the last
// white-space character, which belongs to the next piece or is a piece itself.
static void skip_space(struct piece_reader *r) {
  const char *begin = r->p, *last = begin, *newline = NULL;
  for (size_t len; r->p < r->end; r->p += len) {
    enum kind kind = look(r, &len);
    if (kind != SPACE && kind != NEWLINE) break;
    last = r->p;
    if (kind == NEWLINE) newline = last;
  }
  if (newline) r->p = newline + 1;
  else if (r->p < r->end && last > begin) r->p = last;
}

static void skip_signs(struct piece_reader *r) {
  skip_run(r, OTHER);
  skip_run(r, NEWLINE);
}

// Skips one piece: tries the alternatives of the regular expression in token_pieces.h in their order.
static void skip_piece(struct piece_reader *r) {
  const char *begin = r->p;
  size_t len, more;
  if (*begin == '\'' && (more = contraction(begin + 1, (size_t)(r->end - begin) - 1))) {
    r->p += 1 + more;
    return;
  }
  enum kind kind = look(r, &len);
  if (kind == LETTER) {
    skip_run(r, LETTER);
    return;
  }
  if (kind == NUMBER) {
    skip_numbers(r);
    return;
  }
  r->p += len;
  if (kind != NEWLINE && next_is(r, LETTER)) skip_run(r, LETTER);
  else if (kind == OTHER || (*begin == ' ' && next_is(r, OTHER))) skip_signs(r);
  else {
    r->p = begin;
    skip_space(r);
  }
}

struct piece piece_first(str text) {
  struct piece_reader r = {text.p, text.p + text.n, false};
  skip_piece(&r);
  return (struct piece){{text.p, (size_t)(r.p - text.p)}, r.broken};
}
