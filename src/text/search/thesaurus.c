// SPDX-License-Identifier: Apache-2.0
#include "text/search/thesaurus.h"

#include "text/search/word_tables.h"

size_t thesaurus_find(enum thesaurus_relation relation, str stem, str *out, size_t max) {
  const struct word_table *table = relation == THESAURUS_MEANS ? &thesaurus_table : &short_form_table;
  const uint16_t *word = word_lists + word_table_find(table, stem);
  size_t n = 0;
  for (; *word && n < max; word++) out[n++] = str_of(word_texts + *word);
  return n;
}
