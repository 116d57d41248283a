// SPDX-License-Identifier: Apache-2.0
#include "text/search/thesaurus.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "text/search/words.h"

struct name {  // a stem on one side of a line
  str stem;
  struct name *next;
};

struct place {  // a line that has the stem on its left side, which is the only one when each may stand for each
  const struct name *right;
  enum thesaurus_relation relation;
  struct place *next;
};

struct thesaurus {
  struct arena arena;
  struct stemmer *stemmer;
  struct map places;  // str -> struct place
};

static struct name *read_side(struct thesaurus *t, str words) {
  struct name *first = NULL, **tail = &first;
  str word;
  for (bool more = true; more;) {
    more = str_cut(words, ' ', &word, &words);
    if (!word.n) continue;
    struct name *n = ARENA_NEW(&t->arena, struct name);
    n->stem = arena_str(&t->arena, stemmer_stem(t->stemmer, word));
    *tail = n;
    tail = &n->next;
  }
  return first;
}

static void add_place(struct thesaurus *t, str stem, const struct name *right, enum thesaurus_relation relation) {
  struct place *p = ARENA_NEW(&t->arena, struct place);
  p->right = right;
  p->relation = relation;
  struct place *last = map_find(&t->places, stem);
  if (!last) {
    map_add(&t->places, stem, p);
    return;
  }
  while (last->next) last = last->next;
  last->next = p;
}

static void read_line(struct thesaurus *t, str line) {
  str left, right;
  bool one_way = str_cut(line, '>', &left, &right);
  bool is_short = !one_way && str_cut(line, '=', &left, &right);
  const struct name *from = read_side(t, left);
  const struct name *to = one_way || is_short ? read_side(t, right) : from;
  for (const struct name *n = from; n; n = n->next)
    add_place(t, n->stem, to, is_short ? THESAURUS_SHORT_FOR : THESAURUS_MEANS);
}

struct thesaurus *thesaurus_new(const struct hash_key *seed) {
  struct thesaurus *t = MEM_NEW(struct thesaurus);
  arena_init(&t->arena);
  map_init(&t->places, seed);
  t->stemmer = stemmer_new();
  for (const char *const *line = thesaurus_groups; *line; line++) read_line(t, str_of(*line));
  for (const char *const *line = thesaurus_hints; *line; line++) read_line(t, str_of(*line));
  stemmer_free(&t->stemmer);
  return t;
}

void thesaurus_free(struct thesaurus **t) {
  if (!*t) return;
  map_done(&(*t)->places);
  arena_done(&(*t)->arena);
  mem_free(*t);
  *t = NULL;
}

size_t thesaurus_find(const struct thesaurus *t, enum thesaurus_relation relation, str stem, str *out, size_t max) {
  size_t n = 0;
  for (const struct place *p = map_find(&t->places, stem); p; p = p->next) {
    if (p->relation != relation) continue;
    for (const struct name *o = p->right; o && n < max; o = o->next)
      if (!str_eq(o->stem, stem)) out[n++] = o->stem;
  }
  return n;
}
