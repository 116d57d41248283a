// SPDX-License-Identifier: Apache-2.0
#include "text/search/verbs.h"

#include "text/search/word_tables.h"

unsigned verb_kinds(str stem) {
  return word_table_find(&verb_table, stem);
}
