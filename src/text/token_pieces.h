// SPDX-License-Identifier: Apache-2.0
// The pieces into which cl100k_base splits a text before it merges bytes: no token reaches over their edges.
// They are what this expression matches, one after another (Unicode 16.0; (?i:'s) also matches a long s, U+017F):
//
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
#pragma once
#include "base/str.h"

struct piece {
  str text;
  bool broken;  // it may hold bytes that are no UTF-8
};

// The piece at the beginning of a text that is not empty. All pieces together are the text.
struct piece piece_first(str text);
