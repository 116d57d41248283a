// SPDX-License-Identifier: Apache-2.0
#include "text/search/lexicon.h"

#include <stdlib.h>

#include "base/assert.h"
#include "text/search/word_tables.h"

enum { RARE = 250 };  // assumed tool definitions per million that contain a word without background data

static int compare(const void *key, const void *row) {
  return str_cmp(*(const str *)key, str_of(word_texts + ((const struct word_row *)row)->word));
}

// Returns the value of a word in a table, or 0 if the table does not have the word. No row has the value 0.
static unsigned find(const struct word_table *t, str word) {
  const struct word_row *found = bsearch(&word, t->rows, t->count, sizeof *t->rows, compare);
  ASSERT(!found || found->value);
  return found ? found->value : 0;
}

enum word_class word_class(str word) {
  return (enum word_class)find(&stopword_table, word);
}

unsigned verb_kinds(str stem) {
  return find(&verb_table, stem);
}

size_t thesaurus_find(enum thesaurus_relation relation, str stem, str *out, size_t max) {
  const struct word_table *table = relation == THESAURUS_MEANS ? &thesaurus_table : &short_form_table;
  const uint16_t *word = word_lists + find(table, stem);
  size_t n = 0;
  for (; *word && n < max; word++) out[n++] = str_of(word_texts + *word);
  return n;
}

double background_share(str stem) {
  unsigned permille = find(&background_table, stem);
  return permille ? permille / 1e3 : RARE / 1e6;
}
