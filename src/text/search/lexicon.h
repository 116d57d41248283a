// SPDX-License-Identifier: Apache-2.0
// Facts about English words for the search of tools, in tables made from the files in data/.
#pragma once
#include "base/str.h"

// Classes of words. All except WORD_PLAIN say little about a tool (data/stopwords.txt).
enum word_class {
  WORD_PLAIN,     // every other word
  WORD_FUNCTION,  // words of grammar, such as the, of, with, which
  WORD_REQUEST,   // words that any request may have: please, want, help, provide
  WORD_WEAK,      // words that seldom distinguish tools: latest, specific, detail, today
};
enum word_class word_class(str word);  // `word` must be folded (words.h), but not stemmed

// Kinds of actions that a verb can request, as bits (data/verbs.txt).
enum verb {
  VERB_READ = 1,
  VERB_CREATE = 2,
  VERB_DELETE = 4,
  VERB_CHANGE = 8,
  VERB_RUN = 16,
  VERB_SEND = 32,
  VERB_COMPUTE = 64,
};
unsigned verb_kinds(str stem);  // returns bits of enum verb; 0 for words that are not verbs

// Relations between two words (data/thesaurus.txt): both have the same meaning, or one is short for the other.
enum thesaurus_relation { THESAURUS_MEANS, THESAURUS_SHORT_FOR };

// Writes at most `max` stems to out: the stems with the same meaning as `stem`, or the stems for which `stem` is an
// abbreviation. Returns the number of stems written. The strings stay valid.
size_t thesaurus_find(enum thesaurus_relation relation, str stem, str *out, size_t max);

// Returns which share (0 to 1) of the tool definitions in a large sample has a word with this stem
// (data/background.txt). The definitions of a small catalog do not show how common a word is.
double background_share(str stem);
