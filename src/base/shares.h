// SPDX-License-Identifier: Apache-2.0
// Places of which there are so many, and who has how many of them, so that no one takes them all: whoever has some may
// have one more while more than that are free. One alone gets half of them, two a third each, and whoever comes with
// nothing finds a place while there is one.
//
// Who has no name is nobody in particular, and may have all.
#pragma once
#include "base/list.h"
#include "base/map.h"

// What one has; there is none that is empty.
struct share {
  size_t count;
  struct list members;  // for whoever keeps them: what the places are taken by, or nothing
  size_t bytes;         // for the keeper of the members: their memory, or nothing
  str name;
  char text[];
};

struct shares {
  struct map by_name;
  size_t total, max;
};

void shares_init(struct shares *s, const struct hash_key *seed, size_t max);
void shares_done(struct shares *s);  // nobody has any

size_t shares_free(const struct shares *s);
struct share *shares_find(const struct shares *s, str name);  // NULL: it has none
size_t shares_count(const struct shares *s, str name);

// Might it have one more, if so many besides were free as are?
bool shares_allow(const struct shares *s, str name, size_t besides);

struct share *shares_take(struct shares *s, str name);     // one more, allowed or not
void shares_drop(struct shares *s, struct share **share);  // one less
