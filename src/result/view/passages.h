// SPDX-License-Identifier: Apache-2.0
// Finds passages of a text with the words of a query, best first. A passage is a line, with the following lines if it
// is short; in JSON without line ends, an object of an array; in other text without line ends, some bytes around the
// word.
//
// Words are compared by their stems, ignoring case; words with non-ASCII letters are compared exactly. BM25 over the
// words ranks passages, with a bonus for words that are adjacent as in the query, and a larger one for the whole query.
// The text is read once; each passage found takes eight bytes of memory.
#pragma once
#include "base/arena.h"

enum {
  PASSAGE_WORDS = 8,        // words of a query that count
  PASSAGES_MOST = 1 << 20,  // ranked passages; further ones are only counted
  PASSAGES_COMMON = 20000,  // a word found in this many passages is ignored in the rest of the text
  PASSAGE_BYTES = 480,      // maximum length of a passage
};

struct passage {
  str text;
  double score;
};

struct passages {
  str words[PASSAGE_WORDS];  // the words that count
  size_t words_count;
  size_t found;  // passages with one of the words
  bool more;     // there may be more, because a word is common
  struct passage *best;
  size_t count;
};

// Sets *out, in the arena, to the best passages: skips the first `start` and returns at most `top`.
void passages_find(str text, str query, size_t start, size_t top, struct arena *a, struct passages *out);
