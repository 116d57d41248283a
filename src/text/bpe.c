// SPDX-License-Identifier: Apache-2.0
// A piece that is a token is that token. Else every byte is a part, and of all neighbours whose bytes together are a
// token, those of the lowest rank, and of these the first ones, become one part; until there are none.
#include "text/bpe.h"

#include <endian.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/tables.h"

// Up to SHORT bytes the next pair is found by looking at all of them, and from there on by a heap.
enum { PLACE_BITS = 7, SHORT = 1 << PLACE_BITS };

// ---- the rank of some bytes ----

static const uint64_t length_factor = 0x9e3779b97f4a7c15, word_factor = 0xd6e8feb86659fd93;

// The n (1 to 8) bytes at p as a number, the first byte lowest.
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

// The rank of n > 0 bytes, or BPE_NO_RANK.
static uint32_t rank_of(const char *p, size_t n, const char *end) {
  if (n > BPE_LONGEST) return BPE_NO_RANK;
  uint64_t h = hash_bytes(p, n, end);
  uint32_t step = bpe_steps[h & ((1 << BPE_BUCKET_BITS) - 1)], high = (uint32_t)(h >> 32);
  uint32_t at = ((uint32_t)(h >> BPE_BUCKET_BITS) + step * (high | 1)) & ((1 << BPE_SLOT_BITS) - 1);
  uint32_t slot = bpe_slots[at];
  if ((slot ^ high) >> BPE_OFFSET_BITS) return BPE_NO_RANK;
  const char *entry = bpe_entries + (slot & ((1 << BPE_OFFSET_BITS) - 1));
  uint32_t head;
  memcpy(&head, entry, sizeof head);
  head = le32toh(head);
  return head >> 24 == n && same_bytes(p, entry + sizeof head, n, end) ? head & 0xffffff : BPE_NO_RANK;
}

// ---- merging ----

struct merge {
  const char *p, *end;
  size_t n, parts;
  uint8_t *len;   // of a part: at its first byte, and at its last one
  int32_t *pair;  // of a part and the next, at its first byte: the rank and, in the low bits, the place; or no pair
};

enum { NO_PAIR = BPE_NO_RANK << PLACE_BITS };  // and all above

static inline void put_pair(struct merge *m, size_t at, uint32_t rank) {
  m->pair[at] = (int32_t)(rank << PLACE_BITS | (at & (SHORT - 1)));
}

static inline void put_part(struct merge *m, size_t at, size_t len) {
  m->len[at] = m->len[at + len - 1] = (uint8_t)len;
}

static void rank_pair(struct merge *m, size_t at) {
  size_t next = at + m->len[at];
  put_pair(m, at, next < m->n ? rank_of(m->p + at, (size_t)m->len[at] + m->len[next], m->end) : BPE_NO_RANK);
}

// Makes one part of that at `at` and the next. Gives where the part before it begins, or `at` itself when it is the
// first: the pairs of these two places are new.
static size_t join(struct merge *m, size_t at) {
  size_t next = at + m->len[at], before = at > 0 ? at - m->len[at - 1] : at;
  m->parts--;
  m->pair[next] = NO_PAIR;
  put_part(m, at, (size_t)m->len[at] + m->len[next]);
  rank_pair(m, at);
  if (before != at) rank_pair(m, before);
  return before;
}

// ---- the parts to begin with ----

// Every byte is one. But most characters of two or three bytes are merged in themselves before they can be merged with
// others, which saves most of the work for the scripts that are written with them.

static bool is_ascii(const struct merge *m, size_t at) {
  return (unsigned char)m->p[at] < 0x80;
}

static int shape_of(const struct merge *m, size_t at, size_t len) {
  if (len < 2 || len > 3) return BPE_BYTES;
  if ((at > 0 && is_ascii(m, at - 1)) || (at + len < m->n && is_ascii(m, at + len))) return BPE_BYTES;
  const unsigned char *p = (const unsigned char *)m->p + at;
  uint32_t c = (p[0] & (len == 2 ? 0x1fu : 0x0fu)) << 6 | (p[1] & 0x3fu);
  if (len == 3) c = c << 6 | (p[2] & 0x3fu);
  return bpe_shapes[c / 2] >> c % 2 * 4 & 0xf;
}

static void part_three(struct merge *m, size_t at, size_t first, bool open) {
  put_part(m, at, first);
  put_part(m, at + first, 3 - first);
  put_pair(m, at, open ? rank_of(m->p + at, 3, m->end) : BPE_NO_RANK);
}

// A character of more than a byte. Gives its length.
static size_t part_character(struct merge *m, size_t at) {
  size_t len = utf8_char(m->p + at, m->n - at);
  if (len == 0) len = 1;
  int shape = shape_of(m, at, len);
  bool open = shape & BPE_OPEN;
  switch (shape & ~BPE_OPEN) {
  case BPE_WHOLE:
    put_part(m, at, len);
    m->pair[at] = NO_PAIR;
    break;
  case BPE_TWO_ONE: part_three(m, at, 2, open); break;
  case BPE_ONE_TWO: part_three(m, at, 1, open); break;
  default: memset(m->len + at, 1, len);
  }
  return len;
}

// The pair of a part that is not the last. Within a character that has its parts it is there already.
static void rank_first_pair(struct merge *m, size_t at, size_t next) {
  const unsigned char *p = (const unsigned char *)m->p;
  if (m->len[at] + m->len[next] == 2) put_pair(m, at, bpe_pair_ranks[bpe_pairs[p[at] | p[next] << 8]]);
  else if ((p[next] & 0xc0) != 0x80) rank_pair(m, at);
}

static void start(struct merge *m) {
  for (size_t at = 0; at < m->n;) {
    if (is_ascii(m, at)) m->len[at++] = 1;
    else at += part_character(m, at);
  }
  m->parts = 0;
  for (size_t at = 0, next; at < m->n; at = next, m->parts++) {
    next = at + m->len[at];
    for (size_t i = at + 1; i < next; i++) m->pair[i] = NO_PAIR;
    if (next < m->n) rank_first_pair(m, at, next);
    else m->pair[at] = NO_PAIR;
  }
}

static size_t put_tokens(const struct merge *m, uint32_t *out, size_t max) {
  for (size_t i = 0, at = 0; i < max && at < m->n; at += m->len[at], i++)
    out[i] = rank_of(m->p + at, m->len[at], m->end);
  return m->parts;
}

// ---- merging a short piece ----

// Four pairs at a time: looking for the lowest is most of the work.
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

static size_t encode_short(str piece, const char *end, uint32_t *out, size_t max) {
  uint8_t len[SHORT];
  union {
    int32_t each[SHORT];
    lanes four[SHORT / 4];
  } pair;
  size_t fours = (piece.n + 3) / 4;
  struct merge m = {piece.p, end, piece.n, 0, len, pair.each};
  start(&m);
  for (size_t i = piece.n; i < 4 * fours; i++) pair.each[i] = NO_PAIR;
  for (int32_t best; (best = lowest(pair.four, fours)) < NO_PAIR;) join(&m, (size_t)best & (SHORT - 1));
  return put_tokens(&m, out, max);
}

// ---- merging a long piece ----

// Pairs as rank and place in one number, the lowest first. A pair that is no more stays, and is known by its rank.
struct heap {
  uint64_t *pairs;
  size_t n;
};

enum { HEAP_PLACE_BITS = 47 };

static void heap_push(struct heap *h, uint64_t pair) {
  size_t i = h->n++;
  for (size_t up; i > 0 && h->pairs[up = (i - 1) / 2] > pair; i = up) h->pairs[i] = h->pairs[up];
  h->pairs[i] = pair;
}

static uint64_t heap_pop(struct heap *h) {
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

static void push_pair(struct heap *h, const struct merge *m, size_t at) {
  if (m->pair[at] < NO_PAIR) heap_push(h, pair_rank(m, at) << HEAP_PLACE_BITS | at);
}

static void merge_long(struct merge *m, struct heap *h) {
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

static size_t encode_long(str piece, const char *end, uint32_t *out, size_t max) {
  // Every merge takes one pair from the heap and adds at most two.
  size_t n = piece.n, heap_size = 2 * n * sizeof(uint64_t), pair_size = n * sizeof(int32_t);
  char *memory = mem_alloc(heap_size + pair_size + n);
  struct heap h = {(uint64_t *)memory, 0};
  struct merge m = {piece.p, end, n, 0, (uint8_t *)(memory + heap_size + pair_size), (int32_t *)(memory + heap_size)};
  start(&m);
  merge_long(&m, &h);
  size_t count = put_tokens(&m, out, max);
  mem_free(memory);
  return count;
}

size_t bpe_encode(str piece, const char *end, uint32_t *out, size_t max) {
  uint32_t whole = rank_of(piece.p, piece.n, end);
  if (whole == BPE_NO_RANK)
    return piece.n > SHORT ? encode_long(piece, end, out, max) : encode_short(piece, end, out, max);
  if (max) *out = whole;
  return 1;
}
