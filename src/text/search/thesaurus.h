// SPDX-License-Identifier: Apache-2.0
// Words that mean the same to someone who looks for a tool, from a table in the program.
#pragma once
#include "base/crypto/hash.h"

// A line of the tables is one of these; the last one is NULL.
//   "a b c"    each may stand for each
//   "a b > c"  who writes a or b may mean c, not the other way round
//   "a = b c"  a is short for the words b c together
extern const char *const thesaurus_groups[], *const thesaurus_hints[];

struct thesaurus;
struct thesaurus *thesaurus_new(const struct hash_key *seed);
void thesaurus_free(struct thesaurus **t);

enum thesaurus_relation { THESAURUS_MEANS, THESAURUS_SHORT_FOR };

// Writes the stems that this stem means, or those that it is short for, to out, at most max; gives their number.
size_t thesaurus_find(const struct thesaurus *t, enum thesaurus_relation relation, str stem, str *out, size_t max);
