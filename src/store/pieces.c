// SPDX-License-Identifier: Apache-2.0
#include "store/pieces.h"

#include "base/assert.h"
#include "base/mem.h"
#include "store/store_impl.h"

enum { ROW_COST = 256 };  // bytes counted for each piece in addition to its texts and content

// ---- a batch

static void free_write(struct store_write *w) {
  struct piece_batch *b = CONTAINER_OF(w, struct piece_batch, write);
  piece_batch_free(&b);
}

uint64_t piece_cost(const struct store_piece *p) {
  return (uint64_t)ROW_COST + p->handle.n + p->tool_id.n + p->media_type.n + p->label.n + p->bytes.n;
}

struct piece_batch *piece_batch_new(struct store *s, str owner, struct piece_origin origin) {
  ASSERT_MAGIC(s, STORE_MAGIC);
  struct piece_batch *b = MEM_NEW(struct piece_batch);
  write_init(&b->write, WRITE_PIECES, free_write);
  b->limits = s->opt.limits;
  arena_init(&b->arena);
  b->owner = arena_str(&b->arena, owner);
  b->origin = (struct piece_origin){arena_str(&b->arena, origin.server), arena_str(&b->arena, origin.tool)};
  return b;
}

void piece_batch_free(struct piece_batch **batch) {
  struct piece_batch *b = *batch;
  if (!b) return;
  *batch = NULL;
  ASSERT(!b->own && list_empty(&b->write.node));
  for (size_t i = 0; i < b->count; i++) mem_free(b->list[i].block);
  mem_free(b->list);
  arena_done(&b->arena);
  mem_free(b);
}

bool piece_is_large(const struct store_piece *p) {
  return p->bytes.n > PIECE_ROW_BYTES;
}

static struct piece_entry *new_entry(struct piece_batch *b) {
  if (b->count == b->cap) {
    b->cap = b->cap ? 2 * b->cap : 4;
    b->list = mem_grow(b->list, b->cap * sizeof *b->list);
  }
  struct piece_entry *e = &b->list[b->count++];
  *e = (struct piece_entry){.block = NULL};
  return e;
}

// Makes the batch own the bytes of an entry. Small bytes are copied to the arena, and `block` is freed; large bytes
// stay in `block`, or are copied to the heap if `block` is NULL.
static void take_bytes(struct piece_batch *b, struct piece_entry *e, char *block) {
  str bytes = e->piece.bytes;
  if (!piece_is_large(&e->piece)) {
    e->piece.bytes = arena_str(&b->arena, bytes);
    mem_free(block);
    return;
  }
  e->block = block;
  if (block) return;
  e->block = mem_alloc(bytes.n);
  memcpy(e->block, bytes.p, bytes.n);
  e->piece.bytes.p = e->block;
}

bool piece_batch_add(struct piece_batch *b, const struct store_piece *p, char *block) {
  const struct store_limits *l = &b->limits;
  uint64_t cost = piece_cost(p);
  if (cost > l->piece_owner_bytes || b->cost > l->piece_owner_bytes - cost || b->count >= l->piece_count) return false;
  struct piece_entry *e = new_entry(b);
  e->piece = *p;
  e->piece.handle = arena_str(&b->arena, p->handle);
  e->piece.tool_id = arena_str(&b->arena, p->tool_id);
  e->piece.media_type = arena_str(&b->arena, p->media_type);
  e->piece.label = arena_str(&b->arena, p->label);
  take_bytes(b, e, block);
  b->cost += cost;
  return true;
}

size_t piece_batch_count(const struct piece_batch *b) {
  return b->count;
}

str piece_batch_handle(const struct piece_batch *b, size_t i) {
  ASSERT(i < b->count);
  return b->list[i].piece.handle;
}

void pieces_put(struct store *s, struct piece_batch **batch, struct store_wait *w) {
  struct piece_batch *b = *batch;
  *batch = NULL;
  ASSERT(b && !b->own);
  b->write.bytes = b->cost;
  store_order(s, &b->write, w);
}

// ---- marking a piece as used

static void free_use(struct store_write *w) {
  mem_free(CONTAINER_OF(w, struct piece_use, write));
}

static void note_use(struct store *s, str owner, str handle) {
  struct piece_use *u = mem_zero(sizeof *u + owner.n + handle.n);
  write_init(&u->write, WRITE_USE, free_use);
  u->write.lazy = true;
  u->owner = (str){u->text, owner.n};
  u->handle = (str){u->text + owner.n, handle.n};
  memcpy(u->text, owner.p, owner.n);
  memcpy(u->text + owner.n, handle.p, handle.n);
  store_order(s, &u->write, NULL);
}

// ---- finding

static void end_find(struct store_read *r) {
  struct piece_find *find = CONTAINER_OF(r, struct piece_find, read);
  bool first = find->first.hold;
  if (first && r->ok) found_piece_release(&find->first);
  else if (first) find->found = find->first;
  find->first = (struct found_piece){0};
  r->ok = r->ok || first;
  if (r->ok) note_use(r->store, find->owner, find->handle);
  store_read_over(r, r->ok, NULL);
}

// Called after the search of the main place, such as a folder. If the piece is missing or damaged there, searches the
// spare place (memory).
static void on_found(struct store_read *r) {
  struct piece_find *find = CONTAINER_OF(r, struct piece_find, read);
  struct store_place *spare = r->store->spare;
  if (!spare || (r->ok && !find->found.damaged)) {
    end_find(r);
    return;
  }
  if (r->ok) find->first = find->found;
  r->next = end_find;
  spare->backend->find_piece(spare, find);
}

void pieces_find(struct store *s, str owner, str handle, struct piece_find *find) {
  read_begin(&find->read, s, on_found);
  find->owner = owner;
  find->handle = handle;
  find->found = find->first = (struct found_piece){0};
  s->place->backend->find_piece(s->place, find);
}

bool found_piece_intact(const struct found_piece *p) {
  if (p->damaged) return false;
  return !p->hold || !p->hold->intact || p->hold->intact(p->hold, &p->piece);
}

void found_piece_release(struct found_piece *p) {
  if (p->hold) p->hold->release(p->hold);
  *p = (struct found_piece){0};
}

void pieces_report_damaged(const struct store *s, const struct found_piece *p) {
  if (s->place->backend->report_damaged) s->place->backend->report_damaged(s->place, &p->piece);
}

static void on_counted(struct store_read *r) {
  struct store_place *spare = r->store->spare;
  if (spare && r->ok) spare->backend->count_pieces(spare, CONTAINER_OF(r, struct piece_count, read));
  else store_read_over(r, r->ok, r->ok ? NULL : &r->fault);
}

void pieces_count(struct store *s, str owner, struct piece_count *count) {
  read_begin(&count->read, s, on_counted);
  count->owner = owner;
  count->usage = (struct piece_usage){0};
  s->place->backend->count_pieces(s->place, count);
}
