// SPDX-License-Identifier: Apache-2.0
// Tables that make_tables.py writes at build time from files in data/.
#pragma once
#include <stdint.h>

// ---- the ranks of cl100k_base, which are the ids of its tokens ----

enum { BPE_LONGEST = 128, BPE_NO_RANK = 0x1ffff };  // longest token in bytes; a number above every rank

// A perfect hash: the low bits of a token's hash are its bucket, and the bucket's step leads to the slot of the token
// (bpe.c). A slot has the high bits of the hash, which exclude most other bytes at once, and the offset of the token's
// entry.
enum { BPE_SLOT_BITS = 17, BPE_BUCKET_BITS = 15, BPE_OFFSET_BITS = 20 };

extern const uint8_t bpe_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_slots[1 << BPE_SLOT_BITS];

// Entries ordered by rank. An entry has 4 bytes, the lowest first, with the rank and in the highest byte the length;
// then the token. 8 unused bytes follow the last entry, because reads may go beyond it.
extern const char bpe_entries[];

// By first byte: the length of the longest token that begins with this byte.
extern const uint8_t bpe_longest[256];

// A perfect hash of two parts that form one token when merged. A slot has the rank of the first part and, in lower
// bits, the rank of the second part without its BPE_LOW_BITS low bits, which follow from the slot's index. The rank of
// the token is in the slot's highest bit and in bpe_merge_ranks. Pairs of single bytes are not included, so a slot with
// 0 is empty.
enum { BPE_RANK_BITS = 17, BPE_LOW_BITS = 3 };

extern const uint8_t bpe_merge_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_merge_parts[1 << BPE_SLOT_BITS];
extern const uint16_t bpe_merge_ranks[1 << BPE_SLOT_BITS];

// The ranks of single bytes are below 256. The ranks of two bytes, the first in the high bits, are an index into
// bpe_pairs, which has an index into bpe_pair_ranks: the rank of the pair, or BPE_NO_RANK.
extern const uint8_t bpe_byte_ranks[256];
extern const uint16_t bpe_pairs[1 << 16];
extern const uint32_t bpe_pair_ranks[];

// The parts into which the bytes of a character below U+10000 are merged on their own: one of the constants below. For
// BPE_WHOLE, the bits from BPE_SHAPE_BITS on are an index into bpe_whole_ranks, which has the rank of the character.
enum { BPE_BYTES, BPE_WHOLE, BPE_TWO_ONE, BPE_ONE_TWO, BPE_SHAPE_BITS = 2 };

extern const uint16_t bpe_shapes[0x10000];
extern const uint32_t bpe_whole_ranks[];

// For two neighbouring characters of several bytes each: whether a token begins before the second character and ends
// inside it (heads), or begins inside the first character and ends after it (tails). Index: the low 6 bits of the first
// two bytes of the second character; bit: the low 6 bits of the last byte of the first character.
extern const uint64_t bpe_heads[1 << 12], bpe_tails[1 << 12];

// ---- the kinds of characters (unicode.h), in two stages ----

// unicode_index has the block number of every 128 characters. A block has four characters in each byte, the first one
// lowest.
enum { UNICODE_BLOCK_BITS = 7 };

extern const uint8_t unicode_index[0x110000 >> UNICODE_BLOCK_BITS];
extern const uint8_t unicode_blocks[];
