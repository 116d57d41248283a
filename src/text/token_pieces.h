// SPDX-License-Identifier: Apache-2.0
// Splits a text into pieces, as cl100k_base does before it merges bytes: no token spans two pieces. The pieces are the
// successive matches of this regular expression (Unicode 16.0; (?i:'s) also matches a long s, U+017F):
//
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
#pragma once
#include "base/str.h"

struct piece {
  str text;
  bool broken;  // may contain invalid UTF-8
};

// Returns the first piece of a text, which must not be empty. Every byte of the text belongs to a piece.
struct piece piece_first(str text);
