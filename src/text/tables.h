// SPDX-License-Identifier: Apache-2.0
// Tables that make_tables.py writes at build time from files in data/.
#pragma once
#include <stdint.h>

// ---- the ranks of cl100k_base, which are the ids of its tokens ----

enum { BPE_LONGEST = 128, BPE_NO_RANK = 0x1ffff };  // bytes of the longest token; a number above every rank

// A perfect hash table of tokens. The low bits of a token's hash are its bucket; the bucket's step leads to the slot of
// the token (bpe.c). A slot has the high bits of the hash, which exclude most other byte sequences at once, and the
// offset of the token's entry.
enum { BPE_SLOT_BITS = 17, BPE_BUCKET_BITS = 15, BPE_OFFSET_BITS = 20 };

extern const uint8_t bpe_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_slots[1 << BPE_SLOT_BITS];

// Entries ordered by rank. An entry begins with 4 bytes (the lowest first) that have the token's length in the highest
// byte and its rank in the others; the token follows. 8 unused bytes follow the last entry, because reads may go beyond
// it.
extern const char bpe_entries[];

// By first byte: the length of the longest token that begins with this byte.
extern const uint8_t bpe_longest[256];

// A perfect hash table of pairs of parts that form one token when merged. A slot has the rank of the first part and, in
// lower bits, the rank of the second part without its BPE_LOW_BITS low bits, which follow from the slot's index. The
// rank of the token is in the slot's highest bit and in bpe_merge_ranks. Pairs of single bytes are not included, so a
// slot with 0 is empty.
enum { BPE_RANK_BITS = 17, BPE_LOW_BITS = 3 };

extern const uint8_t bpe_merge_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_merge_parts[1 << BPE_SLOT_BITS];
extern const uint16_t bpe_merge_ranks[1 << BPE_SLOT_BITS];

// The rank of a single byte is below 256. The ranks of two bytes form an index into bpe_pairs, with the first rank in
// the high bits. bpe_pairs has an index into bpe_pair_ranks, which has the rank of the pair, or BPE_NO_RANK.
extern const uint8_t bpe_byte_ranks[256];
extern const uint16_t bpe_pairs[1 << 16];
extern const uint32_t bpe_pair_ranks[];

// By character below U+10000: the parts into which its bytes are merged first, as one of the constants below. With
// BPE_WHOLE, the bits from BPE_SHAPE_BITS on are an index into bpe_whole_ranks, which has the rank of the character.
enum { BPE_BYTES, BPE_WHOLE, BPE_TWO_ONE, BPE_ONE_TWO, BPE_SHAPE_BITS = 2 };

extern const uint16_t bpe_shapes[0x10000];
extern const uint32_t bpe_whole_ranks[];

// For two neighbouring characters that both have several bytes. bpe_heads: whether a token begins before the second
// character and ends inside it. bpe_tails: whether a token begins inside the first character and ends after it. The
// index is made of the low 6 bits of the first two bytes of the second character; the bit is the low 6 bits of the last
// byte of the first character.
extern const uint64_t bpe_heads[1 << 12], bpe_tails[1 << 12];

// ---- the kinds of characters (unicode.h), as a table of blocks ----

// unicode_index has a block number for every 128 characters. A byte of a block has the kinds of four characters, the
// first in its lowest bits.
enum { UNICODE_BLOCK_BITS = 7 };

extern const uint8_t unicode_index[0x110000 >> UNICODE_BLOCK_BITS];
extern const uint8_t unicode_blocks[];
