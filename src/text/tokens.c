// SPDX-License-Identifier: Apache-2.0
#include "text/tokens.h"

#include "base/assert.h"
#include "base/buf.h"
#include "text/bpe.h"
#include "text/tables.h"
#include "text/token_pieces.h"
#include "text/unicode.h"

// Appends the piece with U+FFFD in place of its invalid UTF-8.
static void repair(struct buf *out, str piece) {
  bool valid;
  for (size_t at = 0, len; at < piece.n; at += len) {
    unicode_read(piece.p + at, piece.n - at, &len, &valid);
    buf_str(out, valid ? (str){piece.p + at, len} : STR("\xef\xbf\xbd"));
  }
}

static size_t encode_broken(str piece, uint32_t *out, size_t max) {
  struct buf text;
  buf_init(&text, 3 * piece.n);
  repair(&text, piece);
  size_t count = bpe_encode(buf_view(&text), text.p + text.n, out, max);
  buf_done(&text);
  return count;
}

static size_t encode_piece(const struct piece *piece, const char *end, uint32_t *out, size_t max) {
  return piece->broken ? encode_broken(piece->text, out, max) : bpe_encode(piece->text, end, out, max);
}

// Returns the number of tokens of the text; if it is more than `limit`, returns any number above `limit`. Writes the
// first `max` ids to out.
static size_t encode(str text, size_t limit, uint32_t *out, size_t max) {
  size_t count = 0;
  for (str rest = text; rest.n && count <= limit;) {
    struct piece piece = piece_first(rest);
    if (piece.text.n / BPE_LONGEST > limit - count) return SIZE_MAX;
    size_t left = count < max ? max - count : 0;
    count += encode_piece(&piece, text.p + text.n, left ? out + count : NULL, left);
    rest = str_from(rest, piece.text.n);
  }
  return count;
}

size_t tokens_count(str text) {
  return encode(text, SIZE_MAX, NULL, 0);
}

bool tokens_fit(str text, size_t limit) {
  return text.n / BPE_LONGEST <= limit && encode(text, limit, NULL, 0) <= limit;
}

size_t tokens_encode(str text, uint32_t *out, size_t max) {
  ASSERT(out || !max);
  return encode(text, SIZE_MAX, out, max);
}

// ---- similar texts

// Returns the memo's slot for a word. The word is either in this slot or not in the memo.
static struct tokens_word *place_of(struct tokens_memo *m, const struct tokens_word *w) {
  uint64_t h = w->n;
  for (uint64_t at = 0, part; at < w->n; at += sizeof part) {
    memcpy(&part, (const char *)w + at, sizeof part);
    h = (h ^ part) * 0x9e3779b97f4a7c15;
    h ^= h >> 29;
  }
  return &m->words[h % TOKENS_MEMO];
}

static size_t count_word(struct tokens_memo *m, const struct piece *piece, const char *end) {
  struct tokens_word w = {.n = (uint8_t)piece->text.n};
  memcpy(w.text, piece->text.p, piece->text.n);
  struct tokens_word *known = place_of(m, &w);
  if (known->n != w.n || memcmp(known->text, w.text, w.n) != 0) {
    w.count = (uint8_t)encode_piece(piece, end, NULL, 0);
    *known = w;
  }
  return known->count;
}

size_t tokens_count_like(struct tokens_memo *m, str text) {
  size_t count = 0;
  for (str rest = text; rest.n;) {
    struct piece piece = piece_first(rest);
    if (piece.text.n > TOKENS_MEMO_WORD) count += encode_piece(&piece, text.p + text.n, NULL, 0);
    else count += count_word(m, &piece, text.p + text.n);
    rest = str_from(rest, piece.text.n);
  }
  return count;
}
