// SPDX-License-Identifier: Apache-2.0
#include "base/text/nearest.h"

#include "base/ascii.h"

enum { PART_LEAST = 4 };  // minimum length of a misspelt word that is also searched inside candidates

unsigned nearest_distance(str a, str b) {
  unsigned d[NEAREST_LONGEST + 1][NEAREST_LONGEST + 1];
  if (a.n > NEAREST_LONGEST) a.n = NEAREST_LONGEST;
  if (b.n > NEAREST_LONGEST) b.n = NEAREST_LONGEST;
  for (unsigned i = 0; i <= a.n; i++) d[i][0] = i;
  for (unsigned j = 0; j <= b.n; j++) d[0][j] = j;
  for (size_t i = 1; i <= a.n; i++)
    for (size_t j = 1; j <= b.n; j++) {
      bool same = ascii_lower(a.p[i - 1]) == ascii_lower(b.p[j - 1]);
      d[i][j] = d[i - 1][j - 1] + !same;
      if (d[i - 1][j] + 1 < d[i][j]) d[i][j] = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < d[i][j]) d[i][j] = d[i][j - 1] + 1;
      bool swapped = i > 1 && j > 1 && ascii_lower(a.p[i - 1]) == ascii_lower(b.p[j - 2]) &&
                     ascii_lower(a.p[i - 2]) == ascii_lower(b.p[j - 1]);
      if (swapped && d[i - 2][j - 2] + 1 < d[i][j]) d[i][j] = d[i - 2][j - 2] + 1;
    }
  return d[a.n][b.n];
}

void nearest_try(struct nearest *n, str candidate) {
  if (n->word.n > NEAREST_LONGEST || candidate.n > NEAREST_LONGEST) return;
  unsigned distance = nearest_distance(n->word, candidate), allowed = candidate.n > 4 ? 2 : 1;
  bool part = n->word.n >= PART_LEAST && n->word.n < candidate.n &&
              memmem(candidate.p, candidate.n, n->word.p, n->word.n) != NULL;
  if (part && distance > allowed) distance = allowed;
  if (distance > allowed || (n->best.p && distance >= n->distance)) return;
  n->best = candidate;
  n->distance = distance;
}
