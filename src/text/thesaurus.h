// SPDX-License-Identifier: Apache-2.0
// Words that mean the same to someone who looks for a tool, from a table in the program.
#pragma once
#include "base/hash.h"

extern const char *const thesaurus_groups[];  // words with blanks between them; the last is NULL

struct thesaurus;
struct thesaurus *thesaurus_new(const struct hash_key *seed);
void thesaurus_free(struct thesaurus **t);

// Writes stems that may stand for this one to out, at most max; gives their number.
size_t thesaurus_find(const struct thesaurus *t, str stem, str *out, size_t max);
