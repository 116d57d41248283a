// SPDX-License-Identifier: Apache-2.0
// A hash table from byte strings to pointers, keyed against flooding, iterated in order of insertion.
// Keys are not copied: they live inside the values or in an arena that outlives the table.
#pragma once
#include "base/crypto/hash.h"

struct map_entry {
  str key;
  uint64_t hash;
  void *value;  // NULL: this entry was removed
};

struct map {
  struct hash_key seed;
  struct map_entry *entries;  // in order of insertion, with holes
  uint32_t *slots;            // open addressing: index of an entry + 1, 0 is empty
  size_t used, holes, cap;    // entries in use (holes included), holes, size of `slots`
};

void map_init(struct map *m, const struct hash_key *seed);  // takes no memory yet
void map_done(struct map *m);                               // frees the table, not the values

void *map_find(const struct map *m, str key);       // NULL when it is not there
bool map_add(struct map *m, str key, void *value);  // value is not NULL; false when the key is there already
void *map_remove(struct map *m, str key);           // what was there, or NULL
size_t map_count(const struct map *m);

// Walks the values in order of insertion: `size_t at = 0; while ((v = map_next(m, &at)))`.
// The current value may be removed meanwhile; nothing may be added.
void *map_next(const struct map *m, size_t *at);
