// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one piece (text/token_pieces.h) with the ranks of cl100k_base.
#pragma once
#include "base/str.h"

// Returns the number of tokens of a piece, which must be UTF-8 and not empty; writes the first `max` ids to out. Memory
// must be readable up to `end`, which is at or after the end of the piece; bytes after the piece do not affect the
// result. During the call, a piece of more than 256 bytes needs heap memory of 25 times its size. The result for
// invalid UTF-8 is correct only if the whole piece is a token.
size_t bpe_encode(str piece, const char *end, uint32_t *out, size_t max);
