// SPDX-License-Identifier: Apache-2.0
// The tables of lexicon.h, which make_word_tables.py writes at build time. They have offsets instead of pointers, so
// that nothing is relocated when the program starts.
#pragma once
#include "base/str.h"

struct word_row {
  uint16_t word;  // offset in word_texts
  uint16_t value;
};

struct word_table {
  const struct word_row *rows;  // in bytewise order of their words
  size_t count;
};

extern const char word_texts[];      // words, each ends with NUL
extern const uint16_t word_lists[];  // lists of offsets in word_texts, each ends with 0

extern const struct word_table thesaurus_table, short_form_table;  // by stem: offset of a list in word_lists
extern const struct word_table stopword_table;                     // by word: enum word_class
extern const struct word_table verb_table;                         // by stem: bits of enum verb
extern const struct word_table background_table;  // by stem: number of definitions of 1000 that have it
