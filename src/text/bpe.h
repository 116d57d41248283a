// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one piece (text/token_pieces.h) with the ranks of cl100k_base.
#pragma once
#include "base/str.h"

// Returns the number of tokens of a piece, which must be UTF-8 and not empty; writes the first `max` ids to out. `end`
// is the end of readable memory, at or after the end of the piece; the bytes between these ends do not affect the
// result. A piece of more than 256 bytes needs heap memory during the merge: 25 times its size. A piece of invalid
// UTF-8 is counted correctly only if its bytes are a token.
size_t bpe_encode(str piece, const char *end, uint32_t *out, size_t max);
