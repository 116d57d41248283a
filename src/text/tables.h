// SPDX-License-Identifier: Apache-2.0
// The tables that make_tables.py writes at build time, from data/.
#pragma once
#include <stdint.h>

// ---- the ranks of cl100k_base, which are the ids of its tokens ----

enum { BPE_LONGEST = 128, BPE_NO_RANK = 0x1ffff };  // bytes of a token; above every rank

// A perfect hash: the low bits of a token's hash are its bucket, the step of the bucket leads to the slot that the
// token has for itself (bpe.c). A slot holds the high bits of the hash, so that most other bytes are told at a glance,
// and the offset of the token's entry.
enum { BPE_SLOT_BITS = 17, BPE_BUCKET_BITS = 15, BPE_OFFSET_BITS = 20 };

extern const uint8_t bpe_steps[1 << BPE_BUCKET_BITS];
extern const uint32_t bpe_slots[1 << BPE_SLOT_BITS];

// Entries by rank: rank and, in the highest byte, length (together 4 bytes, the lowest first), then the token. After
// the last one are 8 bytes that are read with it and do not matter.
extern const char bpe_entries[];

// Two bytes, the first one lower, give a number by which bpe_pair_ranks has their rank, or BPE_NO_RANK.
extern const uint16_t bpe_pairs[1 << 16];
extern const uint32_t bpe_pair_ranks[];

// The parts that a character below U+10000 has after those of its merges that come first in any text, as long as no
// character of one byte is beside it. BPE_OPEN says that it has more of them. Two characters to the byte, the first one
// lower.
enum { BPE_BYTES, BPE_WHOLE, BPE_TWO_ONE, BPE_ONE_TWO, BPE_OPEN };

extern const uint8_t bpe_shapes[0x10000 / 2];

// ---- the kinds of characters (unicode.h), in two stages ----

// For each 128 characters the number of their block; in a block four characters to the byte, the first one lowest.
enum { UNICODE_BLOCK_BITS = 7 };

extern const uint8_t unicode_index[0x110000 >> UNICODE_BLOCK_BITS];
extern const uint8_t unicode_blocks[];
