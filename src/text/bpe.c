// SPDX-License-Identifier: Apache-2.0
// Encodes one piece of text. A piece that is itself a token is encoded as that token. In any other piece, every byte is
// a part at first. Then two neighbouring parts that together form a token are merged into one part, again and again,
// until no two neighbours form a token. Each time, the pair whose token has the lowest rank is merged; among equal
// ranks, the first pair.
#include "text/bpe.h"

#include <endian.h>

#include "base/assert.h"
#include "base/mem.h"
#include "text/tables.h"

// The next pair to merge is found by a search of all pairs if the piece has at most SHORT bytes, otherwise with a heap.
enum { PLACE_BITS = 8, SHORT = 1 << PLACE_BITS };

// ---- ranks ----

static const uint64_t length_factor = 0x9e3779b97f4a7c15, word_factor = 0xd6e8feb86659fd93;

// Returns the n bytes (1 to 8) at p as a little-endian number.
static inline uint64_t load(const char *p, size_t n, const char *end) {
  uint64_t word = 0;
  if (end - p >= 8) memcpy(&word, p, 8);
  else memcpy(&word, p, n);
  return le64toh(word) & UINT64_MAX >> (64 - 8 * n);
}

static inline uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_bytes(const char *p, size_t n, const char *end) {
  uint64_t h = n * length_factor;
  for (; n > 8; p += 8, n -= 8) h = mix(h ^ load(p, 8, end), word_factor);
  return mix(h ^ load(p, n, end), word_factor);
}

static inline bool same_bytes(const char *p, const char *token, size_t n, const char *end) {
  for (; n > 8; p += 8, token += 8, n -= 8)
    if (memcmp(p, token, 8) != 0) return false;
  return load(p, n, end) == load(token, n, token + 8);
}

// Returns the slot in a perfect hash table for the hash h.
static inline uint32_t slot_of(uint64_t h, const uint8_t *steps) {
  uint32_t step = steps[h & ((1 << BPE_BUCKET_BITS) - 1)], stride = (uint32_t)(h >> 32) | 1;
  return ((uint32_t)(h >> BPE_BUCKET_BITS) + step * stride) & ((1 << BPE_SLOT_BITS) - 1);
}

// Returns the rank of the token that consists of the n > 0 bytes at p, or BPE_NO_RANK if they are not a token.
static uint32_t rank_of(const char *p, size_t n, const char *end) {
  if (n > bpe_longest[(unsigned char)*p]) return BPE_NO_RANK;
  uint64_t h = hash_bytes(p, n, end);
  uint32_t slot = bpe_slots[slot_of(h, bpe_steps)];
  if ((slot ^ (uint32_t)(h >> 32)) >> BPE_OFFSET_BITS) return BPE_NO_RANK;
  const char *entry = bpe_entries + (slot & ((1 << BPE_OFFSET_BITS) - 1));
  uint32_t head;
  memcpy(&head, entry, sizeof head);
  head = le32toh(head);
  return head >> 24 == n && same_bytes(p, entry + sizeof head, n, end) ? head & 0xffffff : BPE_NO_RANK;
}

// Returns the rank of the token that two bytes form, or BPE_NO_RANK if they form no token. `left` and `right` are the
// ranks of the single bytes.
static inline uint32_t rank_of_bytes(uint32_t left, uint32_t right) {
  return bpe_pair_ranks[bpe_pairs[left << 8 | right]];
}

// Returns the rank of the token that two parts form together, or BPE_NO_RANK if they form no token. One of the parts
// must have two bytes or more.
static inline uint32_t rank_of_parts(uint32_t left, uint32_t right) {
  const uint32_t low_mask = (1 << BPE_LOW_BITS) - 1, token_bit = UINT32_C(1) << 31;
  uint32_t parts = left << (BPE_RANK_BITS - BPE_LOW_BITS) | right >> BPE_LOW_BITS;
  uint64_t h = mix((uint64_t)left << BPE_RANK_BITS | right, word_factor);
  uint32_t at = (slot_of(h, bpe_merge_steps) & ~low_mask) | ((parts + left + right) & low_mask);
  uint32_t slot = bpe_merge_parts[at];
  if ((slot & ~token_bit) != parts) return BPE_NO_RANK;
  return (slot & token_bit) >> 15 | bpe_merge_ranks[at];
}

// ---- merging ----

// The parts of a piece while they are merged. The initial parts have the places 0 to n - 1. A merged part has the place
// of the first initial part in it.
struct merge {
  size_t n, parts;
  bool closed;  // set by add_part if the part it added must not be merged with the next part
  uint32_t *id;
  // Indexed by place: number of initial parts in a part, stored at the first and the last place of the part.
  uint8_t *len;
  // Indexed by place: the rank of the token that the part at this place forms with the next part, followed by
  // PLACE_BITS bits with the place; NO_PAIR if both parts form no token.
  int32_t *pair;
};

enum { NO_PAIR = BPE_NO_RANK << PLACE_BITS };  // this value or a higher one means that two parts form no token

static inline void put_pair(struct merge *m, size_t at, uint32_t rank) {
  m->pair[at] = (int32_t)(rank << PLACE_BITS | (at & (SHORT - 1)));
}

static inline void rank_pair(struct merge *m, size_t at) {
  size_t next = at + m->len[at];
  put_pair(m, at, next < m->n ? rank_of_parts(m->id[at], m->id[next]) : BPE_NO_RANK);
}

// Merges the part at `at` with the next part and updates the pairs of the merged part with its two neighbours. Returns
// the place of the part before the merged part, or `at` if there is no part before it.
static inline size_t join(struct merge *m, size_t at) {
  size_t next = at + m->len[at], before = at > 0 ? at - m->len[at - 1] : at, len = (size_t)m->len[at] + m->len[next];
  m->parts--;
  m->id[at] = (uint32_t)m->pair[at] >> PLACE_BITS;
  m->len[at] = m->len[at + len - 1] = (uint8_t)len;
  m->pair[next] = NO_PAIR;
  rank_pair(m, at);
  if (before != at) rank_pair(m, before);
  return before;
}

// ---- initial parts ----

// Usually each byte is an initial part. The following functions merge the bytes of some characters beforehand, by a
// table. They do so for a character if no token combines only some of its bytes with bytes of a neighbour. If all bytes
// of the character become one part, this part can be merged with others. Otherwise no token contains the whole
// character, and its parts must not be merged further.

static inline uint32_t rank_of_two(uint32_t left, uint32_t right) {
  return (left | right) < 256 ? rank_of_bytes(left, right) : rank_of_parts(left, right);
}

static inline void add_part(struct merge *m, uint32_t id, bool closed) {
  size_t at = m->n++;
  m->id[at] = id;
  m->len[at] = 1;
  if (at > 0) put_pair(m, at - 1, closed || m->closed ? BPE_NO_RANK : rank_of_two(m->id[at - 1], id));
  m->closed = closed;
}

// Returns the entry of bpe_shapes for a character, which says into which parts its bytes are merged. For invalid UTF-8,
// the entry may be that of any character.
static inline uint32_t shape_of(const unsigned char *p, size_t len) {
  if (len == 2) return bpe_shapes[(p[0] & 0x1f) << 6 | (p[1] & 0x3f)];
  return bpe_shapes[(p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f)];
}

static void add_shape(struct merge *m, const unsigned char *p, size_t len) {
  uint32_t shape = shape_of(p, len), first = bpe_byte_ranks[p[0]], second = bpe_byte_ranks[p[1]];
  switch (shape & ((1 << BPE_SHAPE_BITS) - 1)) {
  case BPE_WHOLE: add_part(m, bpe_whole_ranks[shape >> BPE_SHAPE_BITS], false); break;
  case BPE_TWO_ONE:
    add_part(m, rank_of_bytes(first, second), true);
    add_part(m, bpe_byte_ranks[p[2]], true);
    break;
  case BPE_ONE_TWO:
    add_part(m, first, true);
    add_part(m, rank_of_bytes(second, bpe_byte_ranks[p[2]]), true);
    break;
  default:
    for (size_t i = 0; i < len; i++) add_part(m, bpe_byte_ranks[p[i]], true);
  }
}

// Returns whether a token may contain the end of the character before p and the beginning of the character at p, but
// not both characters completely. `cuts` is bpe_heads or bpe_tails. Always returns true if one of the characters has a
// single byte. p must have two bytes.
static inline bool is_cut(const uint64_t *cuts, const unsigned char *p) {
  if (p[-1] < 0x80 || p[0] < 0x80) return true;
  return cuts[(p[0] & 0x3f) << 6 | (p[1] & 0x3f)] >> (p[-1] & 0x3f) & 1;
}

// Returns the length of the character at `at` if it has two or three bytes and these are merged beforehand. Otherwise
// returns 1: the byte at `at` is an initial part.
static inline size_t length_apart(const unsigned char *p, size_t n, size_t at) {
  if (p[at] < 0xc0 || p[at] > 0xef) return 1;
  size_t len = p[at] < 0xe0 ? 2 : 3, next = at + len;
  if (next > n || next + 1 == n) return 1;
  if (at > 0 && is_cut(bpe_heads, p + at)) return 1;
  return next < n && is_cut(bpe_tails, p + next) ? 1 : len;
}

static void start(struct merge *m, str piece) {
  ASSERT(piece.n);
  const unsigned char *p = (const unsigned char *)piece.p;
  for (size_t at = 0, len; at < piece.n; at += len) {
    len = length_apart(p, piece.n, at);
    if (len == 1) add_part(m, bpe_byte_ranks[p[at]], false);
    else add_shape(m, p + at, len);
  }
  m->pair[m->n - 1] = NO_PAIR;
  m->parts = m->n;
}

static size_t put_tokens(const struct merge *m, uint32_t *out, size_t max) {
  for (size_t i = 0, at = 0; i < max && at < m->n; at += m->len[at], i++) out[i] = m->id[at];
  return m->parts;
}

// ---- merging a short piece ----

// Four pairs, which are compared at the same time: most of the work is the search for the lowest pair.
typedef int32_t lanes __attribute__((vector_size(16)));

static inline lanes lower_lanes(lanes a, lanes b) {
  lanes first = a < b;
  return (a & first) | (b & ~first);
}

static int32_t lowest(const lanes *pairs, size_t n) {
  lanes best = pairs[0];
  for (size_t i = 1; i < n; i++) best = lower_lanes(best, pairs[i]);
  int32_t a = best[0] < best[1] ? best[0] : best[1], b = best[2] < best[3] ? best[2] : best[3];
  return a < b ? a : b;
}

static size_t encode_short(str piece, uint32_t *out, size_t max) {
  uint32_t id[SHORT];
  uint8_t len[SHORT];
  union {
    int32_t each[SHORT];
    lanes four[SHORT / 4];
  } pair;
  struct merge m = {.id = id, .len = len, .pair = pair.each};
  start(&m, piece);
  size_t fours = (m.n + 3) / 4;
  for (size_t i = m.n; i < 4 * fours; i++) pair.each[i] = NO_PAIR;
  for (int32_t best; (best = lowest(pair.four, fours)) < NO_PAIR;) join(&m, (size_t)best & (SHORT - 1));
  return put_tokens(&m, out, max);
}

// ---- merging a long piece ----

// A heap of pairs. Each element is a number that combines the rank and the place of a pair; the lowest number is on
// top. A pair whose parts have been merged stays in the heap: its rank then differs from the current rank in struct
// merge.
struct bpe_heap {
  uint64_t *pairs;
  size_t n;
};

enum { HEAP_PLACE_BITS = 47 };

static void heap_push(struct bpe_heap *h, uint64_t pair) {
  size_t i = h->n++;
  for (size_t up; i > 0 && h->pairs[up = (i - 1) / 2] > pair; i = up) h->pairs[i] = h->pairs[up];
  h->pairs[i] = pair;
}

static uint64_t heap_pop(struct bpe_heap *h) {
  uint64_t first = h->pairs[0], last = h->pairs[--h->n];
  size_t i = 0;
  for (size_t down; (down = 2 * i + 1) < h->n; i = down) {
    if (down + 1 < h->n && h->pairs[down + 1] < h->pairs[down]) down++;
    if (h->pairs[down] >= last) break;
    h->pairs[i] = h->pairs[down];
  }
  h->pairs[i] = last;
  return first;
}

static uint64_t pair_rank(const struct merge *m, size_t at) {
  return (uint64_t)m->pair[at] >> PLACE_BITS;
}

static void push_pair(struct bpe_heap *h, const struct merge *m, size_t at) {
  if (m->pair[at] < NO_PAIR) heap_push(h, pair_rank(m, at) << HEAP_PLACE_BITS | at);
}

static void merge_long(struct merge *m, struct bpe_heap *h) {
  for (size_t i = 0; i < m->n; i++) push_pair(h, m, i);
  while (h->n) {
    uint64_t pair = heap_pop(h);
    size_t at = pair & ((UINT64_C(1) << HEAP_PLACE_BITS) - 1);
    if (pair_rank(m, at) != pair >> HEAP_PLACE_BITS) continue;
    size_t before = join(m, at);
    push_pair(h, m, at);
    if (before != at) push_pair(h, m, before);
  }
}

static size_t encode_long(str piece, uint32_t *out, size_t max) {
  // The heap never has more than 2 * n pairs, because a merge takes one pair from it and adds at most two.
  size_t n = piece.n, heap_size = 2 * n * sizeof(uint64_t), id_size = n * sizeof(uint32_t);
  char *memory = mem_alloc(heap_size + 2 * id_size + n), *ids = memory + heap_size, *pairs = ids + id_size;
  struct bpe_heap h = {(uint64_t *)memory, 0};
  struct merge m = {.id = (uint32_t *)ids, .len = (uint8_t *)(pairs + id_size), .pair = (int32_t *)pairs};
  start(&m, piece);
  merge_long(&m, &h);
  ASSERT(h.n == 0 && m.n <= n && m.parts <= m.n);
  size_t count = put_tokens(&m, out, max);
  mem_free(memory);
  return count;
}

size_t bpe_encode(str piece, const char *end, uint32_t *out, size_t max) {
  uint32_t whole = rank_of(piece.p, piece.n, end);
  if (whole == BPE_NO_RANK) return piece.n > SHORT ? encode_long(piece, out, max) : encode_short(piece, out, max);
  if (max) *out = whole;
  return 1;
}
