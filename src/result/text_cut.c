// SPDX-License-Identifier: Apache-2.0
#include "result/text_cut.h"

#include "base/assert.h"
#include "base/text/block.h"
#include "base/text/utf8.h"
#include "text/token_pieces.h"
#include "text/tokens.h"
#include "text/unicode.h"

// Text is read in blocks, so that skipping a long text costs little.
enum { BLOCK = BLOCK_BYTES };

// Tokens are counted in pieces of text (text/token_pieces.h); counting a long piece takes more than linear time.
// Therefore at most this many bytes of a piece are read for each token that may be returned.
enum { PIECE_TOKEN_BYTES = 8 };

// ---- characters ----

// Counts the characters of a block, and sets *out_bytes to their size, if all complete characters in the block are
// valid. Returns 0 if the caller must check the characters one by one. By RFC 3629, a byte from 0xc2 on is followed by
// one continuation byte, and a byte from 0xe0 on by two. The byte after 0xe0 must be 0xa0 or more, the byte after 0xed
// less than 0xa0. Characters of four bytes are not handled here.
static size_t block_chars(const char *p, size_t *out_bytes) {
  struct block b = block_load(p);
  uint64_t high = block_high(b), last = UINT64_C(1) << 63;
  *out_bytes = BLOCK;
  if (!high) return BLOCK;
  uint64_t follows = block_below(b, (char)0xc0), two = high & ~follows, three = high & ~block_below(b, (char)0xe0);
  uint64_t from_e0 = block_is(b, (char)0xe0), from_ed = block_is(b, (char)0xed);
  if ((high & ~block_below(b, (char)0xf0)) | (two & block_below(b, (char)0xc2))) return 0;
  if ((two << 1 | three << 2) != follows) return 0;
  uint64_t above = follows & ~block_below(b, (char)0xa0);
  if ((from_e0 << 1 & ~above) | (from_ed << 1 & above)) return 0;
  if (two & last) *out_bytes = BLOCK - 1;
  else if (three & last >> 1) *out_bytes = BLOCK - 2;
  return block_count(~follows << (BLOCK - *out_bytes));
}

// Returns the length of the first character. For most text, looks only at the character's first byte and its
// continuation bytes.
static inline size_t char_length(const char *p, size_t n) {
  unsigned char c = (unsigned char)*p;
  if (c < 0xc2) return 1;  // an ASCII byte or an invalid byte
  if (c < 0xe0 && n > 1 && utf8_follows(p[1])) return 2;
  if (c > 0xe0 && c < 0xed && n > 2 && utf8_follows(p[1]) && utf8_follows(p[2])) return 3;
  bool valid;
  size_t len;
  unicode_read(p, n, &len, &valid);
  return len;
}

size_t measure_chars(str text, size_t max, size_t *out_bytes) {
  size_t at = 0, count = 0;
  while (at < text.n && count < max) {
    size_t bytes, chars = text.n - at >= BLOCK && max - count >= BLOCK ? block_chars(text.p + at, &bytes) : 0;
    if (chars) {
      at += bytes;
      count += chars;
      continue;
    }
    for (size_t stop = at + BLOCK; at < stop && at < text.n && count < max; count++)
      at += char_length(text.p + at, text.n - at);
  }
  *out_bytes = at;
  return count;
}

size_t measure_all_chars(str text) {
  size_t bytes;
  return measure_chars(text, SIZE_MAX, &bytes);
}

void measure_repair(struct buf *out, str text) {
  size_t copied = 0, at = 0;
  while (at < text.n) {
    size_t len = char_length(text.p + at, text.n - at);
    if (!utf8_char(text.p + at, text.n - at)) {
      buf_add(out, text.p + copied, at - copied);
      buf_str(out, STR("\xef\xbf\xbd"));
      copied = at + len;
    }
    at += len;
  }
  buf_add(out, text.p + copied, at - copied);
}

// ---- lines ----

// Returns whether a line ends with the byte c; `next` is the byte after c.
static inline bool ends_line(char c, char next) {
  return (c == '\n') | ((c == '\r') & (next != '\n'));
}

static bool ends_line_at(str text, size_t i) {
  return ends_line(text.p[i], i + 1 < text.n ? text.p[i + 1] : 0);
}

// Counts the line ends in a block. Reads one byte after the block.
static size_t block_ends(const char *block) {
  uint8_t count = 0;
  for (int i = 0; i < BLOCK; i++) count = (uint8_t)(count + ends_line(block[i], block[i + 1]));
  return count;
}

size_t measure_lines(str text) {
  size_t count = 0, at = 0;
  for (; text.n - at > BLOCK; at += BLOCK) count += block_ends(text.p + at);
  for (; at < text.n; at++) count += ends_line_at(text, at);
  return count + (text.n && !ends_line_at(text, text.n - 1));
}

size_t measure_skip_lines(str text, size_t count) {
  size_t at = 0;
  for (size_t ends; text.n - at > BLOCK && (ends = block_ends(text.p + at)) < count; at += BLOCK) count -= ends;
  for (; at < text.n && count; at++) count -= ends_line_at(text, at);
  ASSERT(at <= text.n);
  return at;
}

str measure_next_line(str *text) {
  const char *lf = memchr(text->p, '\n', text->n);
  size_t n = lf ? (size_t)(lf - text->p) : text->n, end = lf ? 1 : 0;
  const char *cr = memchr(text->p, '\r', n);
  if (cr) {
    n = (size_t)(cr - text->p);
    end = cr + 1 == lf ? 2 : 1;
  }
  str line = {text->p, n};
  *text = str_from(*text, n + end);
  return line;
}

// ---- tokens ----

// Counts tokens piece by piece (text/token_pieces.h). No token spans two pieces, so the tokens of the pieces add up.
size_t measure_cut_tokens(str text, size_t limit) {
  size_t at = 0;
  text = utf8_cut(text, limit * MEASURE_TOKEN_BYTES);
  while (at < text.n) {
    str piece = piece_first(str_from(text, at)).text;
    if (piece.n / PIECE_TOKEN_BYTES > limit || !tokens_fit(piece, limit)) {
      // The loop ends, because a part of at most `limit` bytes has at most `limit` tokens.
      str part = utf8_cut(piece, limit * PIECE_TOKEN_BYTES);
      while (!tokens_fit(part, limit)) part = utf8_cut(part, part.n / 2);
      return at + part.n;
    }
    limit -= tokens_count(piece);
    at += piece.n;
  }
  return at;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_sentence(str text, size_t at) {
  char mark = text.p[at - 1];
  return (mark == '.' || mark == '!' || mark == '?') && is_blank(text.p[at]);
}

size_t measure_cut_nicely(str text, size_t at) {
  if (at >= text.n) return text.n;
  size_t sentence = 0, word = 0;
  for (size_t i = at; i > 0 && i > at - at / 4; i--) {
    if (text.p[i - 1] == '\n') return i;
    if (!sentence && ends_sentence(text, i)) sentence = i;
    if (!word && is_blank(text.p[i])) word = i;
  }
  return sentence ? sentence : word ? word : at;
}
