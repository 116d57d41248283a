// SPDX-License-Identifier: Apache-2.0
// Tokens: any bytes. The tokens together are the text; their number, their ids and what fits agree; the merges are
// those of the definition. The first byte chooses the room for ids.
#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "text/bpe.h"
#include "text/tables.h"
#include "text/token_pieces.h"
#include "text/tokens.h"
#include "text/unicode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_BYTES = 1 << 14, MAX_PLAIN = 300, TOKENS = 100256 };

static str token_of(uint32_t id) {
  static const char *entry[TOKENS + 1];  // filled by the first call
  if (!entry[0]) {
    entry[0] = bpe_entries;
    for (size_t i = 0; i < TOKENS; i++) entry[i + 1] = entry[i] + 4 + (unsigned char)entry[i][3];
  }
  ASSERT(id < TOKENS);
  return (str){entry[id] + 4, (unsigned char)entry[id][3]};
}

static void repair(struct buf *out, str text) {
  bool valid;
  for (size_t at = 0, len; at < text.n; at += len) {
    uint32_t c = unicode_read(text.p + at, text.n - at, &len, &valid);
    ASSERT(len > 0 && len <= text.n - at && (valid || c == UNICODE_REPLACEMENT));
    buf_str(out, valid ? (str){text.p + at, len} : STR("\xef\xbf\xbd"));
  }
}

static void check_bytes(str text, const uint32_t *ids, size_t count) {
  struct buf want, got;
  buf_init(&want, 3 * text.n);
  buf_init(&got, 3 * text.n);
  repair(&want, text);
  for (size_t i = 0; i < count; i++) buf_str(&got, token_of(ids[i]));
  ASSERT(!got.over && str_eq(buf_view(&want), buf_view(&got)));
  buf_done(&want);
  buf_done(&got);
}

// The pair of lowest rank among the parts, which begin at the edges; its number, or `parts`.
static size_t lowest_pair(str piece, const size_t *edge, size_t parts) {
  uint32_t lowest = UINT32_MAX;
  size_t best = parts;
  for (size_t i = 0; i + 1 < parts; i++) {
    uint32_t id;
    str pair = {piece.p + edge[i], edge[i + 2] - edge[i]};
    if (pair.n > BPE_LONGEST || bpe_encode(pair, pair.p + pair.n, &id, 1) > 1 || id >= lowest) continue;
    lowest = id;
    best = i;
  }
  return best;
}

static void check_merges(str piece) {
  size_t edge[MAX_PLAIN + 1], parts = piece.n;
  uint32_t got[MAX_PLAIN], id;
  size_t count = bpe_encode(piece, piece.p + piece.n, got, MAX_PLAIN);
  for (size_t i = 0; i <= piece.n; i++) edge[i] = i;
  for (size_t best; (best = lowest_pair(piece, edge, parts)) < parts; parts--)
    memmove(edge + best + 1, edge + best + 2, (parts - best - 1) * sizeof *edge);
  ASSERT(parts == count);
  for (size_t i = 0; i < parts; i++) {
    str part = {piece.p + edge[i], edge[i + 1] - edge[i]};
    ASSERT(bpe_encode(part, part.p + part.n, &id, 1) == 1 && id == got[i]);
  }
}

static void check_pieces(str text) {
  while (text.n) {
    struct piece piece = piece_first(text);
    ASSERT(piece.text.p == text.p && piece.text.n > 0 && piece.text.n <= text.n);
    if (!piece.broken && piece.text.n <= MAX_PLAIN) check_merges(piece.text);
    text = str_from(text, piece.text.n);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 2 || n > MAX_BYTES) return 0;
  str text = {(const char *)data + 1, n - 1};
  size_t count = tokens_count(text), room = data[0] < count ? data[0] : count;
  uint32_t *ids = mem_alloc(count * sizeof *ids), *some = mem_alloc((room + 1) * sizeof *some);
  ASSERT(tokens_encode(text, ids, count) == count);
  ASSERT(tokens_encode(text, some, room) == count && memcmp(ids, some, room * sizeof *ids) == 0);
  ASSERT(tokens_fit(text, count) && !tokens_fit(text, count - 1) && tokens_fit(text, data[0]) == (count <= data[0]));
  check_bytes(text, ids, count);
  check_pieces(text);
  mem_free(ids);
  mem_free(some);
  return 0;
}
