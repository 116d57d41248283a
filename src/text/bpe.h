// SPDX-License-Identifier: Apache-2.0
// Byte-pair merging of one piece with the ranks of cl100k_base.
#pragma once
#include "base/str.h"

// The number of tokens of a piece, which is UTF-8 and not empty; the first `max` ids go to out. `end` is where the
// memory behind the piece ends that can be read; what is in it does not matter. A piece of more than 256 bytes takes
// heap memory while it is merged: 25 times its size. Bytes that are no UTF-8 are one token when they are a token's, as
// they should; else their number may be wrong.
size_t bpe_encode(str piece, const char *end, uint32_t *out, size_t max);
