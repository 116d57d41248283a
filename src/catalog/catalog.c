// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"
#include "catalog/naming/names.h"
#include "catalog/naming/naming.h"
#include "catalog/naming/uri_key.h"
#include "catalog/show.h"

// ---- collecting

static size_t total(const struct catalog_source *sources, size_t count, enum item_kind kind) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < sources[i].definitions_count; k++)
      if (sources[i].definition_sets[k]) n += sources[i].definition_sets[k]->count[kind];
  return n;
}

static void note_twice(struct catalog *c, unsigned index, str name) {
  struct catalog_part *part = &c->parts[index];
  if (part->twice_count == CATALOG_TWICE) return;
  if (!part->twice) part->twice = ARENA_ARRAY(&c->arena, str, CATALOG_TWICE);
  part->twice[part->twice_count++] = name;
}

static void collect_source(struct catalog *c, const struct catalog_source *s, unsigned index, enum item_kind kind,
                           const struct hash_key *seed) {
  struct map own;
  map_init(&own, seed);
  for (size_t k = 0; k < s->definitions_count; k++) {
    const struct definitions *r = s->definition_sets[k];
    for (size_t i = 0; r && i < r->count[kind]; i++) {
      const struct definition *d = &r->defs[kind][i];
      if (kind == ITEM_TOOL && s->serves && !s->serves(s->serves_ctx, d->name)) continue;
      struct item *item = &c->items[kind][c->count[kind]];
      if (!map_add(&own, d->name, item)) {
        struct item *known = map_find(&own, d->name);
        // Two definition sets of a server may contain the same name. If one set contains a name twice, this mistake of
        // the server is reported.
        if (known->seen & 1u << k) note_twice(c, index, known->name);
        known->seen |= 1u << k;
        continue;
      }
      *item = (struct item){
          .kind = kind,
          .source = index,
          .name = arena_str(&c->arena, d->name),
          .text = d->text,
          .stateless = r->origin.stateless,
          .plain = d->plain,
          .hints = d->hints,
          .seen = 1u << k,
      };
      c->count[kind]++;
    }
  }
  map_done(&own);
}

static void collect(struct catalog *c, const struct catalog_source *sources, enum item_kind kind,
                    const struct hash_key *seed) {
  c->items[kind] = ARENA_ARRAY(&c->arena, struct item, total(sources, c->part_count, kind) + 1);
  for (size_t i = 0; i < c->part_count; i++) {
    struct catalog_part *part = &c->parts[i];
    part->first[kind] = c->count[kind];
    collect_source(c, &sources[i], (unsigned)i, kind, seed);
    part->count[kind] = c->count[kind] - part->first[kind];
  }
}

// ---- cache times

// Returns how long clients may cache a list of one server: the shortest cache time in the server's definition sets. The
// list is public only if all sets are public. A set that declares nothing has the cache time 0 and is private.
static struct catalog_keeping keeping_of(const struct catalog_source *s, enum item_kind kind) {
  ASSERT(s->definitions_count <= 32);  // item.seen has one bit for each set
  if (!s->definitions_count) return (struct catalog_keeping){0};
  struct catalog_keeping k = {UINT64_MAX, true};
  for (size_t i = 0; i < s->definitions_count; i++) {
    const struct definitions *r = s->definition_sets[i];
    if (!r) continue;
    if (r->ttl_ms[kind] < k.ttl_ms) k.ttl_ms = r->ttl_ms[kind];
    k.is_public = k.is_public && r->is_public[kind];
  }
  return k;
}

static void describe_parts(struct catalog *c, const struct catalog_source *sources, size_t count) {
  c->part_count = count;
  c->parts = ARENA_ARRAY(&c->arena, struct catalog_part, count + 1);
  for (size_t i = 0; i < count; i++) {
    c->parts[i].server = arena_str(&c->arena, sources[i].server);
    c->parts[i].instructions = arena_str(&c->arena, sources[i].instructions);
    c->parts[i].version = sources[i].version;
    c->parts[i].anonymous = sources[i].anonymous;
    c->parts[i].gone = sources[i].gone;
    for (int kind = 0; kind < ITEM_KINDS; kind++)
      c->parts[i].keeping[kind] = keeping_of(&sources[i], (enum item_kind)kind);
  }
}

// ---- naming

static int by_order(const void *x, const void *y, void *sources) {
  unsigned a = *(const unsigned *)x, b = *(const unsigned *)y;
  const struct catalog_source *s = sources;
  if (s[a].order != s[b].order) return s[a].order < s[b].order ? -1 : 1;
  return (a > b) - (a < b);
}

static void order_parts(struct catalog *c, const struct catalog_source *sources) {
  struct arena scratch;
  arena_init(&scratch);
  str *servers = ARENA_ARRAY(&scratch, str, c->part_count + 1);
  str *prefixes = ARENA_ARRAY(&scratch, str, c->part_count + 1);
  c->order = ARENA_ARRAY(&c->arena, unsigned, c->part_count + 1);
  for (unsigned i = 0; i < c->part_count; i++) {
    c->order[i] = i;
    servers[i] = sources[i].server;
  }
  names_prefixes(&scratch, servers, c->part_count, prefixes);
  for (size_t i = 0; i < c->part_count; i++) c->parts[i].prefix = arena_str(&c->arena, prefixes[i]);
  if (c->part_count) qsort_r(c->order, c->part_count, sizeof *c->order, by_order, (void *)sources);
  arena_done(&scratch);
}

static void name_items(struct catalog *c, enum item_kind kind) {
  str *shown = ARENA_ARRAY(&c->arena, str, c->count[kind] + 1);
  unsigned *owner = ARENA_ARRAY(&c->arena, unsigned, c->count[kind] + 1);
  c->contested += naming_make(c, kind, NULL, &c->arena, shown, owner, &c->by_shown[kind]);
  for (size_t i = 0; i < c->count[kind]; i++) {
    c->items[kind][i].shown = shown[i];
    if (kind == ITEM_TOOL || kind == ITEM_PROMPT) continue;
    c->items[kind][i].owner = owner[i];
    c->shadowed += owner[i] != 0;
  }
}

static void show_items(struct catalog *c, enum item_kind kind, const struct catalog_source *sources) {
  struct arena scratch;
  arena_init(&scratch);
  for (size_t i = 0; i < c->count[kind]; i++) {
    struct item *item = &c->items[kind][i];
    ASSERT(item->seen && item->source < c->part_count);
    const struct definitions *first = sources[item->source].definition_sets[__builtin_ctz(item->seen)];
    show_item(item, &first->origin, &c->arena, &scratch);
  }
  arena_done(&scratch);
}

struct catalog_keeping catalog_keeping(const struct catalog *c, enum item_kind kind, const bool *sources) {
  struct catalog_keeping all = {UINT64_MAX, true};
  for (size_t i = 0; i < c->part_count; i++) {
    const struct catalog_keeping *k = &c->parts[i].keeping[kind];
    if (c->parts[i].gone || (sources && !sources[i])) continue;
    if (k->ttl_ms < all.ttl_ms) all.ttl_ms = k->ttl_ms;
    all.is_public = all.is_public && k->is_public;
  }
  // UINT64_MAX means that no included server has a list of this kind.
  return all.ttl_ms == UINT64_MAX ? (struct catalog_keeping){0} : all;
}

struct catalog *catalog_build(const struct catalog_source *sources, size_t count, const struct catalog_options *opt) {
  struct catalog *c = MEM_NEW(struct catalog);
  c->refs = 1;
  c->generation = opt->generation;
  c->prefix_always = opt->prefix_always;
  arena_init(&c->arena);
  describe_parts(c, sources, count);
  order_parts(c, sources);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    map_init(&c->by_shown[kind], opt->seed);
    collect(c, sources, kind, opt->seed);
  }
  for (size_t i = 0; i < c->count[ITEM_RESOURCE]; i++)
    c->items[ITEM_RESOURCE][i].key = uri_key(&c->arena, c->items[ITEM_RESOURCE][i].name);
  for (size_t i = 0; i < c->count[ITEM_TEMPLATE]; i++)
    c->items[ITEM_TEMPLATE][i].key = uri_template_key(&c->arena, c->items[ITEM_TEMPLATE][i].name);
  ASSERT(c->part_count == count);
  for (int kind = 0; kind < ITEM_KINDS; kind++) {
    name_items(c, kind);
    show_items(c, kind, sources);
  }
  return c;
}

struct catalog *catalog_ref(struct catalog *c) {
  ASSERT(c->refs > 0);
  c->refs++;
  return c;
}

void catalog_unref(struct catalog **catalog) {
  struct catalog *c = *catalog;
  *catalog = NULL;
  if (!c) return;
  ASSERT(c->refs > 0);
  if (--c->refs) return;
  for (int kind = 0; kind < ITEM_KINDS; kind++) map_done(&c->by_shown[kind]);
  arena_done(&c->arena);
  mem_free(c);
}

// ---- lookups

const struct item *catalog_find(const struct catalog *c, enum item_kind kind, str shown) {
  ASSERT((int)kind < ITEM_KINDS && c->refs > 0);
  return map_find(&c->by_shown[kind], shown);
}

bool catalog_same_item(const struct item *a, const struct item *b) {
  return str_eq(a->text, b->text) && str_eq(a->old_text, b->old_text);
}

bool catalog_same(const struct catalog *a, const struct catalog *b, enum item_kind kind) {
  ASSERT(kind <= ITEM_PROMPT);
  if (a->count[kind] != b->count[kind]) return false;
  for (size_t i = 0; i < a->count[kind]; i++)
    if (a->items[kind][i].seen != b->items[kind][i].seen || !catalog_same_item(&a->items[kind][i], &b->items[kind][i]))
      return false;
  return true;
}
