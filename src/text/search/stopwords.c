// SPDX-License-Identifier: Apache-2.0
#include "text/search/stopwords.h"

#include "text/search/word_tables.h"

enum word_class word_class(str word) {
  return (enum word_class)word_table_find(&stopword_table, word);
}
