// SPDX-License-Identifier: Apache-2.0
// Stores pieces in memory. A stored piece never changes: storing another piece under its handle replaces it. Each
// found_piece holds a reference to the stored piece.
#include <stdatomic.h>

#include "base/mem.h"
#include "store/memory/memory.h"

struct kept_owner {
  str name;
  struct list by_use;  // the owner's pieces, least recently used first
  struct piece_usage usage;
};

struct kept_piece {
  struct piece_hold hold;
  atomic_uint refs;  // number of references: one held by the place, and one by each found_piece
  struct list by_use, by_owner_use, by_age;
  struct kept_owner *owner;
  struct arena arena;
  str key;
  struct store_piece piece;
  char *block;  // heap memory with the bytes if they are large; otherwise NULL
  int64_t put_at;
  uint64_t cost;
};

// ---- one piece

static void unref(struct kept_piece *k) {
  unsigned before = atomic_fetch_sub(&k->refs, 1);
  ASSERT(before > 0);
  if (before > 1) return;
  memory_key_free(k->key);
  mem_free(k->block);
  arena_done(&k->arena);
  mem_free(k);
}

static void release(struct piece_hold *h) {
  unref(CONTAINER_OF(h, struct kept_piece, hold));
}

static struct kept_owner *owner_of(struct memory *m, str name) {
  struct kept_owner *o = map_find(&m->owners, name);
  if (o) return o;
  o = mem_zero(sizeof *o + name.n);
  memcpy(o + 1, name.p, name.n);
  o->name = (str){(char *)(o + 1), name.n};
  list_init(&o->by_use);
  map_add(&m->owners, o->name, o);
  return o;
}

static void drop(struct memory *m, struct kept_piece *k) {
  struct kept_owner *o = k->owner;
  ASSERT(m->usage.count > 0 && m->usage.bytes >= k->cost);
  ASSERT(o->usage.count > 0 && o->usage.bytes >= k->cost);
  map_remove(&m->pieces, k->key);
  list_remove(&k->by_use);
  list_remove(&k->by_owner_use);
  list_remove(&k->by_age);
  m->usage = (struct piece_usage){m->usage.count - 1, m->usage.bytes - k->cost};
  o->usage = (struct piece_usage){o->usage.count - 1, o->usage.bytes - k->cost};
  unref(k);
  if (o->usage.count) return;
  map_remove(&m->owners, o->name);
  mem_free(o);
}

// Creates the stored piece for an entry of a batch. If the entry has a heap block (its content is large), the piece
// takes ownership of the block.
static struct kept_piece *keep(struct piece_batch *b, struct piece_entry *e) {
  struct kept_piece *k = MEM_NEW(struct kept_piece);
  const struct store_piece *p = &e->piece;
  k->hold.release = release;
  k->refs = 1;
  arena_init(&k->arena);
  k->key = memory_key(b->owner, p->handle);
  k->piece = *p;
  k->piece.handle = arena_str(&k->arena, p->handle);
  k->piece.tool_id = arena_str(&k->arena, p->tool_id);
  k->piece.media_type = arena_str(&k->arena, p->media_type);
  k->piece.label = arena_str(&k->arena, p->label);
  k->piece.origin.server = arena_str(&k->arena, b->origin.server);
  k->piece.origin.tool = arena_str(&k->arena, b->origin.tool);
  if (!e->block) k->piece.bytes = arena_str(&k->arena, p->bytes);
  k->block = e->block;
  e->block = NULL;
  k->put_at = b->write.now;
  k->cost = piece_cost(p);
  return k;
}

static void add(struct memory *m, struct kept_piece *k, str owner) {
  struct kept_owner *o = k->owner = owner_of(m, owner);
  map_add(&m->pieces, k->key, k);
  list_push(&m->by_use, &k->by_use);
  list_push(&o->by_use, &k->by_owner_use);
  list_push(&m->by_age, &k->by_age);
  m->usage = (struct piece_usage){m->usage.count + 1, m->usage.bytes + k->cost};
  o->usage = (struct piece_usage){o->usage.count + 1, o->usage.bytes + k->cost};
}

// ---- writing

void memory_drop_old_pieces(struct memory *m, int64_t now) {
  int64_t until = now - (int64_t)m->place.opt->limits.piece_ms;
  LIST_EACH(it, &m->by_age) {
    struct kept_piece *k = CONTAINER_OF(it, struct kept_piece, by_age);
    if (k->put_at > until) return;
    drop(m, k);
  }
}

// Makes room for `cost` bytes of `owner`: drops the least recently used pieces of `owner` until its limits hold, then
// those of all owners until the total is at most `most`.
static void make_room(struct memory *m, str owner, uint64_t cost, uint64_t most) {
  const struct store_limits *l = &m->place.opt->limits;
  uint64_t owner_most = l->piece_owner_bytes < most ? l->piece_owner_bytes : most;
  ASSERT(cost <= owner_most);
  for (struct kept_owner *o; (o = map_find(&m->owners, owner));) {
    if (o->usage.bytes <= owner_most - cost && o->usage.count < l->piece_count) break;
    drop(m, CONTAINER_OF(o->by_use.next, struct kept_piece, by_owner_use));
  }
  while (m->usage.count && m->usage.bytes > most - cost)
    drop(m, CONTAINER_OF(m->by_use.next, struct kept_piece, by_use));
}

bool memory_put_pieces(struct memory *m, struct store_write *w) {
  struct piece_batch *b = CONTAINER_OF(w, struct piece_batch, write);
  uint64_t most = place_piece_limit(&m->place);
  if (b->cost > most) return false;
  memory_drop_old_pieces(m, w->now);
  for (size_t i = 0; i < b->count; i++) {
    struct piece_entry *e = &b->list[i];
    struct kept_piece *old = memory_find(&m->pieces, b->owner, e->piece.handle);
    if (old) drop(m, old);
    make_room(m, b->owner, piece_cost(&e->piece), most);
    add(m, keep(b, e), b->owner);
  }
  return true;
}

bool memory_use_piece(struct memory *m, struct store_write *w) {
  struct piece_use *u = CONTAINER_OF(w, struct piece_use, write);
  struct kept_piece *k = memory_find(&m->pieces, u->owner, u->handle);
  if (!k) return true;
  list_remove(&k->by_use);
  list_remove(&k->by_owner_use);
  list_push(&m->by_use, &k->by_use);
  list_push(&k->owner->by_use, &k->by_owner_use);
  return true;
}

void memory_drop_pieces(struct memory *m) {
  while (!list_empty(&m->by_use)) drop(m, CONTAINER_OF(m->by_use.next, struct kept_piece, by_use));
}

// ---- reading

void memory_find_piece(struct store_place *p, struct piece_find *r) {
  struct memory *m = memory_of(p);
  int64_t older = place_now(p) - (int64_t)p->opt->limits.piece_ms;
  uv_mutex_lock(&m->lock);
  struct kept_piece *k = memory_find(&m->pieces, r->owner, r->handle);
  bool found = k && k->put_at > older;
  if (found) {
    atomic_fetch_add(&k->refs, 1);
    r->found = (struct found_piece){.piece = k->piece, .hold = &k->hold};
  }
  uv_mutex_unlock(&m->lock);
  store_read_over(&r->read, found, NULL);
}

void memory_count_pieces(struct store_place *p, struct piece_count *r) {
  struct memory *m = memory_of(p);
  uv_mutex_lock(&m->lock);
  const struct kept_owner *o = r->owner.n ? map_find(&m->owners, r->owner) : NULL;
  const struct piece_usage none = {0}, *usage = !r->owner.n ? &m->usage : o ? &o->usage : &none;
  r->usage.count += usage->count;
  r->usage.bytes += usage->bytes;
  uv_mutex_unlock(&m->lock);
  store_read_over(&r->read, true, NULL);
}
