// SPDX-License-Identifier: Apache-2.0
// The known word that somebody may have meant.
#pragma once
#include "base/str.h"

enum { NEAREST_LONGEST = 64 };  // bytes of words that are compared

struct nearest {
  str word, best;  // best.p is NULL as long as none is near
  unsigned distance;
};

// Is this one nearer than those before? One letter may be wrong, in long words two; and a word of four letters and more
// may be a part of it.
void nearest_try(struct nearest *n, str candidate);

// Insertions, deletions, substitutions and swaps of neighbours, in any case, that make one of the other. Of longer
// words only NEAREST_LONGEST bytes are looked at.
unsigned nearest_distance(str a, str b);
