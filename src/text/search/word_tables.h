// SPDX-License-Identifier: Apache-2.0
// The tables that lexicon.c searches, written by make_word_tables.py at build time. They contain offsets instead of
// pointers, so that the dynamic linker does not have to relocate anything when the program starts.
#pragma once
#include "base/str.h"

struct word_row {
  uint16_t word;  // offset in word_texts
  uint16_t value;
};

struct word_table {
  const struct word_row *rows;  // sorted by the bytes of the words
  size_t count;
};

extern const char word_texts[];      // words, each followed by NUL
extern const uint16_t word_lists[];  // lists of offsets in word_texts; each list ends with 0

// Indexed by stem: offset of the stem's list in word_lists.
extern const struct word_table thesaurus_table, short_form_table;
extern const struct word_table stopword_table;  // indexed by word: enum word_class
extern const struct word_table verb_table;      // indexed by stem: bits of enum verb
// Indexed by stem: number of tool definitions per 1000 that have this stem.
extern const struct word_table background_table;
