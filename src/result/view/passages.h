// SPDX-License-Identifier: Apache-2.0
// Passages of a text that hold the words of a query, the best first. A passage is a line, with those behind it when it
// is short; of JSON without line ends, an object of an array; of other text without line ends, some bytes around what
// was found.
//
// Words are compared by their stems, whatever their case; words beyond ASCII as they are written. Passages are ranked
// by BM25 over the words, with more for words that stand beside each other as they do in the query, and still more for
// the query as a whole. The text is gone over once; what is kept of a passage are eight bytes.
#pragma once
#include "base/arena.h"

enum {
  PASSAGE_WORDS = 8,        // of a query that count
  PASSAGES_MOST = 1 << 20,  // that are ranked: those behind are only counted
  PASSAGES_COMMON = 20000,  // a word that is in so many says little: from there on it is not looked for
  PASSAGE_BYTES = 480,      // at the most
};

struct passage {
  str text;
  double score;
};

struct passages {
  str words[PASSAGE_WORDS];  // what is looked for
  size_t words_count;
  size_t found;  // passages that hold one of them
  bool more;     // there may be more: some word is common
  struct passage *best;
  size_t count;
};

// The best of them from the start-th on, at most `top`, in the arena.
void passages_find(str text, str query, size_t start, size_t top, struct arena *a, struct passages *out);
