// SPDX-License-Identifier: Apache-2.0
// A hash table from byte strings to pointers. A secret seed prevents attacks with colliding keys. Iteration is in order
// of insertion. The table does not copy keys: a key must live in its value or in an arena that outlives the table.
#pragma once
#include "base/crypto/hash.h"

struct map_entry {
  str key;
  uint64_t hash;
  void *value;  // NULL after the entry was removed
};

struct map {
  struct hash_key seed;
  struct map_entry *entries;  // in order of insertion; includes removed entries
  uint32_t *slots;            // open addressing: index of an entry + 1, 0 is empty
  size_t used, holes, cap;    // entries (including holes), holes, size of `slots`
};

void map_init(struct map *m, const struct hash_key *seed);  // allocates no memory yet
void map_done(struct map *m);                               // frees the table, not the values

void *map_find(const struct map *m, str key);       // NULL if the key is absent
bool map_add(struct map *m, str key, void *value);  // value must not be NULL; returns false if the table has the key
void *map_remove(struct map *m, str key);           // returns the removed value, or NULL
size_t map_count(const struct map *m);

// Walks the values in order of insertion: `size_t at = 0; while ((v = map_next(m, &at)))`. During the walk, the caller
// may remove the current value, but must not add values.
void *map_next(const struct map *m, size_t *at);
