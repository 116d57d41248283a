// SPDX-License-Identifier: Apache-2.0
// The tables that make_tables.py writes at build time, from data/.
#pragma once
#include <stdint.h>

// ---- the ranks of cl100k_base, which are the ids of its tokens ----

enum { BPE_LONGEST = 128, BPE_NO_RANK = 0x1ffff };  // bytes of a token; above every rank

// A perfect hash: the low bits of a token's hash are its bucket, and the step of the bucket gives the token's own slot
// (bpe.c). A slot has the high bits of the hash, so that most other bytes are excluded at once, and the offset of the
// token's entry.
enum { BPE_SLOT_BITS = 17, BPE_BUCKET_BITS = 15, BPE_OFFSET_BITS = 20 };

extern const uint8_t bpe_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_slots[1 << BPE_SLOT_BITS];

// Entries by rank: rank and, in the highest byte, length (together 4 bytes, the lowest first), then the token. 8 unused
// bytes follow the last entry, which are read with it.
extern const char bpe_entries[];

// By its first byte, the length of the longest token.
extern const uint8_t bpe_longest[256];

// A perfect hash of two parts that form one token when merged. A slot has the rank of the first part and, below it,
// that of the second without its low bits, which the place of the slot gives; then, in the highest bit and in
// bpe_merge_ranks, the rank of the token. Pairs of single bytes are not in it: a slot with 0 is empty.
enum { BPE_RANK_BITS = 17, BPE_LOW_BITS = 3 };

extern const uint8_t bpe_merge_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_merge_parts[1 << BPE_SLOT_BITS];
extern const uint16_t bpe_merge_ranks[1 << BPE_SLOT_BITS];

// The ranks of bytes are below 256. Two of them, the first one higher, form an index into bpe_pair_ranks, which has the
// rank of the pair, or BPE_NO_RANK.
extern const uint8_t bpe_byte_ranks[256];
extern const uint16_t bpe_pairs[1 << 16];
extern const uint32_t bpe_pair_ranks[];

// The parts to which the bytes of a character below U+10000 are merged without neighbours. A value above BPE_WHOLE is
// an index into bpe_whole_ranks, which has the rank of the character.
enum { BPE_BYTES, BPE_WHOLE, BPE_TWO_ONE, BPE_ONE_TWO, BPE_SHAPE_BITS = 2 };

extern const uint16_t bpe_shapes[0x10000];
extern const uint32_t bpe_whole_ranks[];

// For two characters of more than a byte each: whether a token ends within the second one and begins before it (heads),
// or begins within the first one and ends after it (tails). Index: the low 6 bits of the first two bytes of the second
// character; bit: the low 6 bits of the last byte of the first one.
extern const uint64_t bpe_heads[1 << 12], bpe_tails[1 << 12];

// ---- the kinds of characters (unicode.h), in two stages ----

// For every 128 characters the number of their block; a block has four characters in a byte, the first one lowest.
enum { UNICODE_BLOCK_BITS = 7 };

extern const uint8_t unicode_index[0x110000 >> UNICODE_BLOCK_BITS];
extern const uint8_t unicode_blocks[];
