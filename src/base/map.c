// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"

#include "base/assert.h"
#include "base/mem.h"

enum { SMALL = 512 };

void map_init(struct map *m, const struct hash_key *seed) {
  *m = (struct map){.seed = *seed};
}

void map_done(struct map *m) {
  mem_free(m->entries);
  mem_free(m->slots);
  map_init(m, &(struct hash_key){m->seed.k0, m->seed.k1});
}

size_t map_count(const struct map *m) {
  ASSERT(m->holes <= m->used);
  return m->used - m->holes;
}

static void place(struct map *m, uint32_t index) {
  size_t at = m->entries[index].hash & (m->cap - 1);
  while (m->slots[at]) at = (at + 1) & (m->cap - 1);
  m->slots[at] = index + 1;
}

// Makes room for one more entry: drops the places of removed entries, and adapts the size of the table to the number of
// entries.
static void rebuild(struct map *m) {
  size_t live = map_count(m), cap = m->cap ? m->cap : 8;
  if (live * 4 >= cap) cap *= 2;
  while (cap > 64 && live * 16 < cap) cap /= 2;
  ASSERT(cap <= UINT32_MAX && live < cap / 2);
  struct map_entry *entries = mem_alloc(cap / 2 * sizeof *entries);
  size_t n = 0;
  for (size_t i = 0; i < m->used; i++)
    if (m->entries[i].value) entries[n++] = m->entries[i];
  mem_free(m->entries);
  mem_free(m->slots);
  m->entries = entries;
  m->slots = mem_zero(cap * sizeof *m->slots);
  m->used = n;
  m->holes = 0;
  m->cap = cap;
  for (size_t i = 0; i < n; i++) place(m, (uint32_t)i);
}

static struct map_entry *find_entry(const struct map *m, str key, uint64_t hash) {
  if (!m->cap) return NULL;
  for (size_t at = hash & (m->cap - 1); m->slots[at]; at = (at + 1) & (m->cap - 1)) {
    struct map_entry *e = &m->entries[m->slots[at] - 1];
    if (e->value && e->hash == hash && str_eq(e->key, key)) return e;
  }
  return NULL;
}

void *map_find(const struct map *m, str key) {
  if (!m->cap) return NULL;
  struct map_entry *e = find_entry(m, key, hash_sip(&m->seed, key));
  return e ? e->value : NULL;
}

bool map_add(struct map *m, str key, void *value) {
  ASSERT(value);
  uint64_t hash = hash_sip(&m->seed, key);
  if (find_entry(m, key, hash)) return false;
  if (m->used == m->cap / 2) rebuild(m);
  m->entries[m->used] = (struct map_entry){key, hash, value};
  place(m, (uint32_t)m->used++);
  return true;
}

void *map_remove(struct map *m, str key) {
  struct map_entry *e = m->cap ? find_entry(m, key, hash_sip(&m->seed, key)) : NULL;
  if (!e) return NULL;
  void *value = e->value;
  // The slot stays marked as used, because a lookup stops at a free slot and would miss the keys in later slots. The
  // next rebuild frees the slot.
  *e = (struct map_entry){0};
  m->holes++;
  // A small table that becomes empty is cleared immediately, so that repeatedly adding and removing an entry allocates
  // no memory.
  if (m->holes == m->used && m->cap <= SMALL) {
    memset(m->slots, 0, m->cap * sizeof *m->slots);
    m->used = m->holes = 0;
  }
  return value;
}

void *map_next(const struct map *m, size_t *at) {
  while (*at < m->used) {
    void *value = m->entries[(*at)++].value;
    if (value) return value;
  }
  return NULL;
}
