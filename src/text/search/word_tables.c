// SPDX-License-Identifier: Apache-2.0
#include "text/search/word_tables.h"

#include <stdlib.h>

static int compare(const void *key, const void *row) {
  return str_cmp(*(const str *)key, str_of(word_texts + ((const struct word_row *)row)->word));
}

unsigned word_table_find(const struct word_table *t, str word) {
  const struct word_row *found = bsearch(&word, t->rows, t->count, sizeof *t->rows, compare);
  return found ? found->value : 0;
}
