// SPDX-License-Identifier: Apache-2.0
#include "catalog/directory/visible_index.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "catalog/directory/directory_part.h"

// Limits of the cache: number of sets of visible entries, and bytes of their indexes and trees. The most recently used
// sets stay.
enum { PARTIALS = 64, MOST_BYTES = 256 << 20 };

struct partial {
  uint64_t *visible;  // NULL if this slot is free
  enum directory_kind kind;
  uint64_t used;
  uint32_t *numbers;  // for each visible entry, its index in the kind index
  size_t count;
  struct arena arena;  // memory of the tree
  struct tree *tree;   // NULL until its first use
  struct search_index *index;
  struct index_build *build;  // the build that is in progress, or NULL
};

struct partials {
  struct partial list[PARTIALS];
  uint64_t uses;
};

static size_t bytes_of(const struct kind_index *kind_index) {
  return (kind_index->count / 64 + 1) * sizeof(uint64_t);
}

static bool is_set(const uint64_t *bits, size_t i) {
  return bits[i / 64] >> (i % 64) & 1;
}

// ---- creation and destruction

struct partials *partials_new(void) {
  return MEM_NEW(struct partials);
}

static void clear(struct partial *p) {
  if (!p->visible) return;
  mem_free(p->visible);
  mem_free(p->numbers);
  search_index_free(&p->index);
  arena_done(&p->arena);
  *p = (struct partial){0};
}

void partials_free(struct partials **partials) {
  for (size_t i = 0; *partials && i < PARTIALS; i++) clear(&(*partials)->list[i]);
  mem_free(*partials);
  *partials = NULL;
}

// ---- cached views

static void open(struct partial *p, const struct kind_index *kind_index, enum directory_kind kind,
                 const uint64_t *visible) {
  clear(p);
  p->kind = kind;
  p->visible = memcpy(mem_alloc(bytes_of(kind_index)), visible, bytes_of(kind_index));
  p->numbers = mem_alloc((kind_index->count + 1) * sizeof *p->numbers);
  arena_init(&p->arena);
  for (size_t i = 0; i < kind_index->count; i++)
    if (is_set(visible, i)) p->numbers[p->count++] = (uint32_t)i;
}

static struct partial *find(const struct directory *d, enum directory_kind kind, const uint64_t *visible) {
  ASSERT(kind <= DIRECTORY_PROMPTS && d->refs > 0);
  const struct kind_index *kind_index = &d->kind_indexes[kind];
  struct partial *list = d->partials->list, *found = NULL, *oldest = list;
  for (struct partial *p = list; !found && p < list + PARTIALS; p++) {
    if (p->visible && p->kind == kind && !memcmp(p->visible, visible, bytes_of(kind_index))) found = p;
    if (p->used < oldest->used) oldest = p;
  }
  if (!found) open(found = oldest, kind_index, kind, visible);
  found->used = ++d->partials->uses;
  return found;
}

static size_t memory_of(const struct partial *p) {
  return p->arena.total + (p->index ? search_index_bytes(p->index) : 0);
}

// Frees the least recently used sets of visible entries until the other sets need at most MOST_BYTES. Never frees the
// set that was used last.
static void make_room(struct partials *all) {
  for (;;) {
    struct partial *oldest = NULL;
    size_t total = 0;
    for (struct partial *p = all->list; p < all->list + PARTIALS; p++) {
      total += memory_of(p);
      if (memory_of(p) && (!oldest || p->used < oldest->used)) oldest = p;
    }
    if (total <= MOST_BYTES) return;
    ASSERT(oldest && oldest->used <= all->uses);
    if (oldest->used == all->uses) return;
    clear(oldest);
  }
}

// ---- the search

static size_t count_set(const uint64_t *bits, size_t first, size_t count, uint64_t *out) {
  size_t n = 0;
  memset(out, 0, (count / 64 + 1) * sizeof *out);
  for (size_t i = 0; i < count; i++) {
    if (!is_set(bits, first + i)) continue;
    out[i / 64] |= UINT64_C(1) << (i % 64);
    n++;
  }
  return n;
}

// May run on any thread, because it reads only immutable parts of the directory.
static struct search_index *make_index(const struct directory *d, enum directory_kind kind, const uint64_t *visible) {
  struct search_part **parts = mem_alloc((d->part_count + 1) * sizeof(struct search_part *));
  uint64_t *keep = mem_alloc(bytes_of(&d->kind_indexes[kind]));
  size_t n = 0, first = 0;
  for (size_t i = 0; i < d->part_count; i++) {
    const struct part_kind_index *from = &d->parts[i]->kind_indexes[kind];
    size_t kept = count_set(visible, first, from->count, keep);
    if (kept) parts[n++] = kept == from->count ? search_part_ref(from->search) : search_part_sift(from->search, keep);
    first += from->count;
  }
  ASSERT(first == d->kind_indexes[kind].count);
  struct search_index *made = search_index_new(parts, n, &d->kind_indexes[kind].by_id.seed);
  for (size_t i = 0; i < n; i++) search_part_unref(&parts[i]);
  mem_free(parts);
  mem_free(keep);
  return made;
}

struct outlook directory_search(const struct directory *d, enum directory_kind kind, const uint64_t *visible) {
  const struct kind_index *kind_index = &d->kind_indexes[kind];
  if (!visible) return (struct outlook){.index = kind_index->index, .entries = kind_index->entries};
  struct partial *p = find(d, kind, visible);
  if (!p->index) {
    p->index = make_index(d, kind, p->visible);
    make_room(d->partials);
  }
  return (struct outlook){.index = p->index, .entries = kind_index->entries, .numbers = p->numbers};
}

enum { SMALL_INDEX = 512 };  // an index of up to this number of entries is built immediately, in about 2 ms

struct index_build {
  struct directory *directory;
  enum directory_kind kind;
  uint64_t *visible;
  struct search_index *index;  // NULL until it is built
};

struct index_build *directory_index_begin(struct directory *d, enum directory_kind kind, const uint64_t *visible,
                                          bool *out_new) {
  if (!visible) return NULL;
  struct partial *p = find(d, kind, visible);
  if (p->index || p->count < SMALL_INDEX) return NULL;
  *out_new = !p->build;
  if (p->build) return p->build;
  struct index_build *b = p->build = MEM_NEW(struct index_build);
  size_t bytes = bytes_of(&d->kind_indexes[kind]);
  *b = (struct index_build){directory_ref(d), kind, memcpy(mem_alloc(bytes), visible, bytes), NULL};
  return b;
}

void directory_index_run(struct index_build *b) {
  ASSERT(!b->index);
  b->index = make_index(b->directory, b->kind, b->visible);
}

void directory_index_end(struct index_build **build) {
  struct index_build *b = *build;
  struct partial *p = find(b->directory, b->kind, b->visible);
  ASSERT(b->index);
  if (p->build == b) p->build = NULL;
  if (!p->index) {
    p->index = b->index;
    make_room(b->directory->partials);
  } else search_index_free(&b->index);
  directory_unref(&b->directory);
  mem_free(b->visible);
  mem_free(b);
  *build = NULL;
}

// ---- the paths

static struct tree *make_tree(const struct kind_index *kind_index, struct partial *p) {
  struct tree_item *leaves = mem_alloc((p->count + 1) * sizeof *leaves);
  for (size_t i = 0; i < p->count; i++) {
    const struct entry *e = &kind_index->entries[p->numbers[i]];
    leaves[i] = (struct tree_item){e->card.id, e->card.namespace, e->leaf};
  }
  struct tree *made = tree_build(leaves, p->count, &kind_index->by_id.seed, &p->arena);
  mem_free(leaves);
  return made;
}

struct outlook directory_paths(const struct directory *d, enum directory_kind kind, const uint64_t *visible) {
  ASSERT(kind <= DIRECTORY_PROMPTS);
  const struct kind_index *kind_index = &d->kind_indexes[kind];
  if (!visible) return (struct outlook){.tree = kind_index->tree, .entries = kind_index->entries};
  struct partial *p = find(d, kind, visible);
  if (!p->tree) {
    p->tree = make_tree(kind_index, p);
    make_room(d->partials);
  }
  return (struct outlook){.tree = p->tree, .entries = kind_index->entries, .numbers = p->numbers};
}
