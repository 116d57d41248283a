// SPDX-License-Identifier: Apache-2.0
// Finds the known word that is nearest to a misspelt word, for suggestions.
#pragma once
#include "base/str.h"

enum { NEAREST_LONGEST = 64 };  // maximum bytes of a word that are compared

struct nearest {
  str word, best;  // the misspelt word, and the nearest candidate so far (p is NULL if no candidate is near enough)
  unsigned distance;
};

// Makes the candidate the best word if it is near enough and nearer than all earlier candidates. A candidate is near
// enough if one letter differs (two if the candidate has more than four letters), or if it contains the word and the
// word has at least four letters.
void nearest_try(struct nearest *n, str candidate);

// Returns the number of insertions, deletions, substitutions and swaps of adjacent letters between two words, ignoring
// case. Compares the first NEAREST_LONGEST bytes.
unsigned nearest_distance(str a, str b);
