// SPDX-License-Identifier: Apache-2.0
#include "text/tokens.h"

#include "base/buf.h"
#include "text/bpe.h"
#include "text/pieces.h"
#include "text/tables.h"
#include "text/unicode.h"

// The piece as UTF-8.
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

// The tokens of the text; when they are more than `limit`, any number above it.
static size_t encode(str text, size_t limit, uint32_t *out, size_t max) {
  size_t count = 0;
  for (str rest = text; rest.n && count <= limit;) {
    struct piece piece = piece_first(rest);
    if (piece.text.n / BPE_LONGEST > limit - count) return SIZE_MAX;
    size_t left = count < max ? max - count : 0;
    uint32_t *to = left ? out + count : NULL;
    if (piece.broken) count += encode_broken(piece.text, to, left);
    else count += bpe_encode(piece.text, text.p + text.n, to, left);
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
  return encode(text, SIZE_MAX, out, max);
}
