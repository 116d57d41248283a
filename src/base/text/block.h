// SPDX-License-Identifier: Apache-2.0
// Compares a block of 64 bytes at once. Results are masks of 64 bits: bit i stands for byte i of the block.
#pragma once
#ifdef __SSE2__
#include <emmintrin.h>
#else
#include <endian.h>
#endif

#include "base/str.h"

enum { BLOCK_BYTES = 64 };

#ifdef __SSE2__
struct block {
  __m128i part[4];
};

// The functions on blocks use no loops: with loops, the compiler would keep the parts of a block in memory instead of
// registers.
static inline __m128i block_part(const char *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline struct block block_load(const char *p) {
  return (struct block){{block_part(p), block_part(p + 16), block_part(p + 32), block_part(p + 48)}};
}

static inline uint64_t block_join(__m128i a, __m128i b, __m128i c, __m128i d) {
  uint64_t low = (uint32_t)_mm_movemask_epi8(a) | (uint32_t)_mm_movemask_epi8(b) << 16;
  uint64_t high = (uint32_t)_mm_movemask_epi8(c) | (uint32_t)_mm_movemask_epi8(d) << 16;
  return low | high << 32;
}

static inline uint64_t block_is(struct block b, char c) {
  __m128i x = _mm_set1_epi8(c);
  return block_join(_mm_cmpeq_epi8(b.part[0], x), _mm_cmpeq_epi8(b.part[1], x), _mm_cmpeq_epi8(b.part[2], x),
                    _mm_cmpeq_epi8(b.part[3], x));
}

// Like block_is, but returns a block instead of a mask: the top bit of a byte is set if the byte equals c. block_high
// converts this block to a mask.
static inline struct block block_same(struct block b, char c) {
  __m128i x = _mm_set1_epi8(c);
  return (struct block){{_mm_cmpeq_epi8(b.part[0], x), _mm_cmpeq_epi8(b.part[1], x), _mm_cmpeq_epi8(b.part[2], x),
                         _mm_cmpeq_epi8(b.part[3], x)}};
}

static inline struct block block_both(struct block a, struct block b) {
  return (struct block){{_mm_and_si128(a.part[0], b.part[0]), _mm_and_si128(a.part[1], b.part[1]),
                         _mm_and_si128(a.part[2], b.part[2]), _mm_and_si128(a.part[3], b.part[3])}};
}

static inline struct block block_either(struct block a, struct block b) {
  return (struct block){{_mm_or_si128(a.part[0], b.part[0]), _mm_or_si128(a.part[1], b.part[1]),
                         _mm_or_si128(a.part[2], b.part[2]), _mm_or_si128(a.part[3], b.part[3])}};
}

// Returns whether any byte equals c.
static inline bool block_has(struct block b, char c) {
  __m128i x = _mm_set1_epi8(c), low = _mm_or_si128(_mm_cmpeq_epi8(b.part[0], x), _mm_cmpeq_epi8(b.part[1], x));
  __m128i high = _mm_or_si128(_mm_cmpeq_epi8(b.part[2], x), _mm_cmpeq_epi8(b.part[3], x));
  return _mm_movemask_epi8(_mm_or_si128(low, high));
}

// Returns the mask of the bytes above ASCII.
static inline uint64_t block_high(struct block b) {
  return block_join(b.part[0], b.part[1], b.part[2], b.part[3]);
}

// Returns the block with `bits` set in all bytes.
static inline struct block block_or(struct block b, char bits) {
  __m128i x = _mm_set1_epi8(bits);
  return (struct block){
      {_mm_or_si128(b.part[0], x), _mm_or_si128(b.part[1], x), _mm_or_si128(b.part[2], x), _mm_or_si128(b.part[3], x)}};
}

// Returns the mask of the bytes that are less than c as signed numbers.
static inline uint64_t block_below(struct block b, char c) {
  __m128i x = _mm_set1_epi8(c);
  return block_join(_mm_cmplt_epi8(b.part[0], x), _mm_cmplt_epi8(b.part[1], x), _mm_cmplt_epi8(b.part[2], x),
                    _mm_cmplt_epi8(b.part[3], x));
}
#else
struct block {
  uint64_t part[8];
};

static inline struct block block_load(const char *p) {
  struct block b;
  memcpy(&b, p, sizeof b);
  for (int i = 0; i < 8; i++) b.part[i] = le64toh(b.part[i]);
  return b;
}

// Returns the top bits of eight bytes as one byte.
static inline uint64_t block_tops(uint64_t w) {
  return ((w >> 7 & 0x0101010101010101) * 0x0102040810204080) >> 56;
}

static inline uint64_t block_high(struct block b) {
  uint64_t mask = 0;
  for (int i = 0; i < 8; i++) mask |= block_tops(b.part[i]) << 8 * i;
  return mask;
}

static inline struct block block_same(struct block b, char c) {
  const uint64_t ones = 0x0101010101010101, sevens = 0x7f * ones;
  for (int i = 0; i < 8; i++) {
    uint64_t x = b.part[i] ^ ones * (unsigned char)c;
    b.part[i] = ~(((x & sevens) + sevens) | x) & ~sevens;
  }
  return b;
}

static inline struct block block_both(struct block a, struct block b) {
  for (int i = 0; i < 8; i++) a.part[i] &= b.part[i];
  return a;
}

static inline struct block block_either(struct block a, struct block b) {
  for (int i = 0; i < 8; i++) a.part[i] |= b.part[i];
  return a;
}

static inline uint64_t block_is(struct block b, char c) {
  return block_high(block_same(b, c));
}

static inline bool block_has(struct block b, char c) {
  return block_is(b, c);
}

static inline struct block block_or(struct block b, char bits) {
  for (int i = 0; i < 8; i++) b.part[i] |= 0x0101010101010101 * (unsigned char)bits;
  return b;
}

static inline uint64_t block_below(struct block b, char c) {
  uint64_t mask = 0;
  for (int i = 0; i < 64; i++) mask |= (uint64_t)((signed char)(b.part[i / 8] >> 8 * (i % 8)) < (signed char)c) << i;
  return mask;
}
#endif

// Returns the number of set bits. Does not use the POPCNT instruction, which some processors lack.
static inline unsigned block_count(uint64_t mask) {
  mask -= mask >> 1 & 0x5555555555555555;
  mask = (mask & 0x3333333333333333) + (mask >> 2 & 0x3333333333333333);
  mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (unsigned)(mask * 0x0101010101010101 >> 56);
}

static inline unsigned block_first(uint64_t mask) {
  return (unsigned)__builtin_ctzll(mask);
}

// Returns a mask in which bit i is set if the number of set bits among bits 0 to i of `mask` is odd. For a mask of
// quotes, the result marks the quoted bytes.
static inline uint64_t block_between(uint64_t mask) {
  mask ^= mask << 1;
  mask ^= mask << 2;
  mask ^= mask << 4;
  mask ^= mask << 8;
  mask ^= mask << 16;
  return mask ^ mask << 32;
}
