// SPDX-License-Identifier: Apache-2.0
#include "text/background.h"

#include "text/search/word_tables.h"

enum { RARE = 250 };  // of a million: about what a word has that is not in the table

double background_share(str stem) {
  unsigned permille = word_table_find(&background_table, stem);
  return permille ? permille / 1e3 : RARE / 1e6;
}
