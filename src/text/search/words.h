// SPDX-License-Identifier: Apache-2.0
// Splits a text into the words that search compares.
//
// A text is split at every character that is neither letter nor digit, at camelCase borders, and between letters and
// digits. Each word is folded: NFKC, lower case, without accents. In Chinese, Japanese, Korean and Thai, which put no
// blanks between words, the words are overlapping pairs of characters.
#pragma once
#include "base/arena.h"
#include "base/str.h"

enum { WORD_MOST_BYTES = 48 };  // words are cut to this length, because longer ones are usually data, not language

struct word_list {
  str *words;  // non-empty strings
  size_t count;
};

// Returns the first `max` words of the text, in order, in the arena. Invalid UTF-8 separates words.
struct word_list words_split(struct arena *a, str text, size_t max);

// Reduces English words to their stems (Snowball). Words with characters other than a-z stay unchanged.
struct stemmer;
struct stemmer *stemmer_new(void);
void stemmer_free(struct stemmer **s);

// Returns the stem, which is `word` itself or text that is valid until the next call.
str stemmer_stem(struct stemmer *s, str word);
