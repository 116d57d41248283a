// SPDX-License-Identifier: Apache-2.0
// Facts about English words that search uses: tables made from the files in data/.
#pragma once
#include "base/str.h"

// Words that say little about a tool (data/stopwords.txt).
enum word_class {
  WORD_PLAIN,     // every other word
  WORD_FUNCTION,  // grammar: the, of, with, which
  WORD_REQUEST,   // words that any request may have: please, want, help, provide
  WORD_WEAK,      // words that seldom distinguish tools: latest, specific, detail, today
};
enum word_class word_class(str word);  // the word must be folded, but not stemmed

// Actions that a verb requests (data/verbs.txt).
enum verb {
  VERB_READ = 1,
  VERB_CREATE = 2,
  VERB_DELETE = 4,
  VERB_CHANGE = 8,
  VERB_RUN = 16,
  VERB_SEND = 32,
  VERB_COMPUTE = 64,
};
unsigned verb_kinds(str stem);  // bits of enum verb; 0 for other words

// Relations between words that the tool search uses (data/thesaurus.txt).
enum thesaurus_relation { THESAURUS_MEANS, THESAURUS_SHORT_FOR };

// Writes at most `max` stems to out: stems with the same meaning as `stem`, or stems that `stem` is short for. Returns
// their number. The strings stay valid.
size_t thesaurus_find(enum thesaurus_relation relation, str stem, str *out, size_t max);

// Returns the share (0 to 1) of tool definitions in a large sample that have a word with this stem
// (data/background.txt). It is used because a small catalog does not show how common a word is.
double background_share(str stem);
