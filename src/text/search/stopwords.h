// SPDX-License-Identifier: Apache-2.0
// English words that say little about what a tool does: data/stopwords.txt.
#pragma once
#include "base/str.h"

enum word_class {
  WORD_PLAIN,     // every other word
  WORD_FUNCTION,  // the, of, with, which: grammar
  WORD_REQUEST,   // please, want, help, provide: how people ask, whatever they ask for
  WORD_WEAK,      // latest, specific, detail, today: they seldom tell one tool from another
};

enum word_class word_class(str word);  // folded, not stemmed
