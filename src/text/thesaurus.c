// SPDX-License-Identifier: Apache-2.0
#include "text/thesaurus.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "text/words.h"

struct member {  // of a group; one stem may be in several
  str stem;
  uint32_t group;
  struct member *next_same;   // the same stem in another group
  struct member *next_group;  // the next stem of the group
};

struct thesaurus {
  struct arena arena;
  struct map stems;  // str -> struct member, the first with that stem
  struct member **groups;
};

static void add_member(struct thesaurus *t, uint32_t group, str stem, struct member ***tail) {
  for (struct member *m = t->groups[group]; m; m = m->next_group)
    if (str_eq(m->stem, stem)) return;
  struct member *m = ARENA_NEW(&t->arena, struct member);
  m->stem = arena_str(&t->arena, stem);
  m->group = group;
  **tail = m;
  *tail = &m->next_group;
  struct member *first = map_find(&t->stems, stem);
  if (!first) {
    map_add(&t->stems, m->stem, m);
    return;
  }
  while (first->next_same) first = first->next_same;
  first->next_same = m;
}

struct thesaurus *thesaurus_new(const struct hash_key *seed) {
  struct thesaurus *t = MEM_NEW(struct thesaurus);
  arena_init(&t->arena);
  map_init(&t->stems, seed);
  struct stemmer *stemmer = stemmer_new();
  size_t count = 0;
  while (thesaurus_groups[count]) count++;
  t->groups = ARENA_ARRAY(&t->arena, struct member *, count);
  for (uint32_t g = 0; g < count; g++) {
    struct member **tail = &t->groups[g];
    str rest = str_of(thesaurus_groups[g]), word;
    for (bool more = true; more;) {
      more = str_cut(rest, ' ', &word, &rest);
      if (word.n) add_member(t, g, stemmer_stem(stemmer, word), &tail);
    }
  }
  stemmer_free(&stemmer);
  return t;
}

void thesaurus_free(struct thesaurus **t) {
  if (!*t) return;
  map_done(&(*t)->stems);
  arena_done(&(*t)->arena);
  mem_free(*t);
  *t = NULL;
}

size_t thesaurus_find(const struct thesaurus *t, str stem, str *out, size_t max) {
  size_t n = 0;
  for (const struct member *m = map_find(&t->stems, stem); m; m = m->next_same)
    for (const struct member *o = t->groups[m->group]; o && n < max; o = o->next_group)
      if (!str_eq(o->stem, stem)) out[n++] = o->stem;
  return n;
}
