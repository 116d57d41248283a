// SPDX-License-Identifier: Apache-2.0
// Tables that make_tables.py writes at build time from files in data/.
#pragma once
#include <stdint.h>

// ---- the ranks of cl100k_base, which are the ids of its tokens ----

// BPE_LONGEST: bytes of the longest token. BPE_NO_RANK: a number above the rank of every token.
enum { BPE_LONGEST = 128, BPE_NO_RANK = 0x1ffff };

// A perfect hash table of tokens. The low bits of a token's hash are its bucket; slot_of() in bpe.c computes the slot
// of the token from the hash and the bucket's step in bpe_steps. A slot contains the high bits of the hash, which
// exclude most other byte sequences at once, and the offset of the token's entry in bpe_entries.
enum { BPE_SLOT_BITS = 17, BPE_BUCKET_BITS = 15, BPE_OFFSET_BITS = 20 };

extern const uint8_t bpe_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_slots[1 << BPE_SLOT_BITS];

// The entries of all tokens, ordered by rank. An entry is a 32-bit little-endian number, followed by the bytes of the
// token. The highest 8 bits of the number are the token's length, the others its rank. 8 unused bytes follow the last
// entry, because reads may go beyond its end.
extern const char bpe_entries[];

// For each byte: the length of the longest token that begins with this byte.
extern const uint8_t bpe_longest[256];

// A perfect hash table of pairs of parts that together form a token. A slot of bpe_merge_parts contains the ranks of
// both parts: that of the first part, and in lower bits that of the second part. The lowest BPE_LOW_BITS bits of the
// second rank are left out, because they follow from the slot's index. The highest bit of the slot is the highest bit
// of the token's rank; bpe_merge_ranks contains its lower 16 bits. The table has no pairs of two single bytes, so an
// empty slot is 0.
enum { BPE_RANK_BITS = 17, BPE_LOW_BITS = 3 };

extern const uint8_t bpe_merge_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_merge_parts[1 << BPE_SLOT_BITS];
extern const uint16_t bpe_merge_ranks[1 << BPE_SLOT_BITS];

// bpe_byte_ranks contains the rank of each single byte, which is below 256. The ranks of two bytes form an index into
// bpe_pairs, with the first rank in the high bits. There, bpe_pairs contains an index into bpe_pair_ranks, which
// contains the rank of the token of both bytes, or BPE_NO_RANK.
extern const uint8_t bpe_byte_ranks[256];
extern const uint16_t bpe_pairs[1 << 16];
extern const uint32_t bpe_pair_ranks[];

// Values of bpe_shapes, which says for each character below U+10000 into which parts its bytes are merged first: single
// bytes, one part, two bytes and one, or one byte and two. The low BPE_SHAPE_BITS bits are one of these constants. With
// BPE_WHOLE, the other bits are an index into bpe_whole_ranks, which contains the rank of the character.
enum { BPE_BYTES, BPE_WHOLE, BPE_TWO_ONE, BPE_ONE_TWO, BPE_SHAPE_BITS = 2 };

extern const uint16_t bpe_shapes[0x10000];
extern const uint32_t bpe_whole_ranks[];

// One bit for each kind of border between two neighbouring characters that both have several bytes. bpe_heads: whether
// a token begins before the second character and ends inside it. bpe_tails: whether a token begins inside the first
// character and ends after it. The low 6 bits of each of the first two bytes of the second character form the index of
// an array element. The low 6 bits of the last byte of the first character are the number of the bit in this element.
extern const uint64_t bpe_heads[1 << 12], bpe_tails[1 << 12];

// ---- kinds of characters (unicode.h), in a table of blocks ----

// unicode_index contains the number of a block for every 128 characters. Each byte of a block contains the kinds of
// four characters, the kind of the first character in the lowest bits.
enum { UNICODE_BLOCK_BITS = 7 };

extern const uint8_t unicode_index[0x110000 >> UNICODE_BLOCK_BITS];
extern const uint8_t unicode_blocks[];
