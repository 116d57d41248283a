// SPDX-License-Identifier: Apache-2.0
#include "catalog/seen.h"

#include <stdlib.h>

#include "base/assert.h"

struct seen_item {
  str id;
  bool shown;        // `card` is set, and was shown
  struct card card;  // the card as it was first shown
};

void seen_init(struct seen *s, size_t max_bytes, const struct hash_key *seed) {
  ASSERT(seed);
  map_init(&s->by_id, seed);
  arena_init(&s->arena);
  s->max_bytes = max_bytes;
}

void seen_done(struct seen *s) {
  map_done(&s->by_id);
  arena_done(&s->arena);
}

void seen_clear(struct seen *s) {
  struct hash_key seed = s->by_id.seed;
  seen_done(s);
  seen_init(s, s->max_bytes, &seed);
}

static bool is_full(const struct seen *s, size_t more) {
  return s->arena.total + more > s->max_bytes;
}

static struct seen_item *add(struct seen *s, str id) {
  if (is_full(s, sizeof(struct seen_item) + id.n)) return NULL;
  struct seen_item *item = ARENA_NEW(&s->arena, struct seen_item);
  item->id = arena_str(&s->arena, id);
  map_add(&s->by_id, item->id, item);
  return item;
}

void seen_note(struct seen *s, str id) {
  if (!map_find(&s->by_id, id)) add(s, id);
}

static size_t text_bytes(const struct card *c) {
  size_t n = c->id.n + c->name.n + c->description.n + c->namespace.n;
  for (size_t i = 0; i < c->tag_count; i++) n += c->tags[i].n;
  return n;
}

// Stores a copy of the card if there is space for it.
static void freeze(struct seen *s, struct seen_item *item, const struct card *c) {
  if (is_full(s, text_bytes(c))) return;
  ASSERT(!item->shown);
  item->card = *c;
  item->card.id = item->id;
  item->card.name = arena_str(&s->arena, c->name);
  item->card.description = arena_str(&s->arena, c->description);
  item->card.signature = arena_str(&s->arena, c->signature);
  item->card.namespace = arena_str(&s->arena, c->namespace);
  for (size_t i = 0; i < c->tag_count; i++) item->card.tags[i] = arena_str(&s->arena, c->tags[i]);
  item->shown = true;
}

static int by_id(const void *x, const void *y) {
  const struct card *a = x, *b = y;
  return str_cmp(a->id, b->id);
}

static struct card marker(void) {
  return (struct card){.id = STR(SEEN_MARKER),
                       .name = STR("cache_breakpoint"),
                       .description =
                           STR("Cache-stable prefix above; newly discovered items below; each by id, not by rank."),
                       .kind = CARD_INTERNAL};
}

static void remember(struct seen *s, const struct card *c) {
  struct seen_item *item = map_find(&s->by_id, c->id);
  if (!item) item = add(s, c->id);
  if (item && !item->shown) freeze(s, item, c);
}

size_t seen_arrange(struct seen *s, const struct card *cards, size_t count, struct card *out) {
  size_t old = 0, new = 0;
  for (size_t i = 0; i < count; i++) {
    const struct seen_item *item = map_find(&s->by_id, cards[i].id);
    if (item) out[old++] = item->shown ? item->card : cards[i];
  }
  ASSERT(old <= count);
  struct card *fresh = out + old + (old && old < count);
  for (size_t i = 0; i < count; i++)
    if (!map_find(&s->by_id, cards[i].id)) fresh[new ++] = cards[i];
  ASSERT(old + new == count);
  if (old && new) out[old] = marker();
  qsort(out, old, sizeof *out, by_id);
  qsort(fresh, new, sizeof *fresh, by_id);
  for (size_t i = 0; i < count; i++) remember(s, &cards[i]);
  return old + (old && new) + new;
}
