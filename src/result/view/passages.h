// SPDX-License-Identifier: Apache-2.0
// Finds the passages of a text that have words of a query, best first. A passage is a line; a short line is joined with
// the following lines. In JSON without line ends, a passage is an object in an array; in other text without line ends,
// a passage is some bytes around the word.
//
// Words are compared by their stems, ignoring case; words with non-ASCII letters are compared exactly. Passages are
// ranked by BM25 over the words. A passage gets a bonus for words that are adjacent as in the query, and a larger bonus
// if it contains the whole query. The text is read once; each passage found takes eight bytes of memory.
#pragma once
#include "base/arena.h"

enum {
  PASSAGE_WORDS = 8,        // maximum number of words of a query that are searched; further words are ignored
  PASSAGES_MOST = 1 << 20,  // maximum number of passages that are ranked; further ones are only counted
  PASSAGES_COMMON = 20000,  // a word found in this many passages is not searched in the rest of the text
  PASSAGE_BYTES = 480,      // maximum length of a passage
};

struct passage {
  str text;
  double score;
};

struct passages {
  str words[PASSAGE_WORDS];  // the words of the query that are searched for
  size_t words_count;
  size_t found;  // number of passages that have at least one of the words
  bool more;     // there may be more passages, because a common word was not searched everywhere
  struct passage *best;
  size_t count;
};

// Sets *out to the best passages, in the arena: skips the first `start` passages, and returns at most `top`.
void passages_find(str text, str query, size_t start, size_t top, struct arena *a, struct passages *out);
