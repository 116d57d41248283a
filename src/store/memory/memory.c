// SPDX-License-Identifier: Apache-2.0
// The backend that holds all data in memory, until the store is closed.
#include "store/memory/memory.h"

#include "base/crypto/rand.h"
#include "base/mem.h"

// In a spare place, records and notes get numbers above SPARE_FIRST, so that they follow the records and notes on disk.
#define SPARE_FIRST (UINT64_C(1) << 48)

// Joins two names to one key. The key begins with the length of the first name, so that different pairs of names have
// different keys.
str memory_key(str first, str second) {
  size_t n = sizeof first.n + first.n + second.n;
  char *key = mem_alloc(n);
  memcpy(key, &first.n, sizeof first.n);
  if (first.n) memcpy(key + sizeof first.n, first.p, first.n);
  if (second.n) memcpy(key + sizeof first.n + first.n, second.p, second.n);
  return (str){key, n};
}

void memory_key_free(str key) {
  mem_free((char *)key.p);
}

void *memory_find(const struct map *m, str first, str second) {
  str key = memory_key(first, second);
  void *found = map_find(m, key);
  memory_key_free(key);
  return found;
}

static bool write_nothing(struct memory *m, struct store_write *w) {
  return true;
}

static bool (*const writings[WRITE_KINDS])(struct memory *m, struct store_write *w) = {
    [WRITE_NOTHING] = write_nothing,      [WRITE_PIECES] = memory_put_pieces,      [WRITE_USE] = memory_use_piece,
    [WRITE_RECORDS] = memory_add_records, [WRITE_DOCUMENT] = memory_save_document, [WRITE_NOTE] = memory_write_note,
};

static enum place_wrote write_group(struct store_place *p, struct list *writes) {
  struct memory *m = memory_of(p);
  uv_mutex_lock(&m->lock);
  LIST_EACH(it, writes) {
    struct store_write *w = CONTAINER_OF(it, struct store_write, node);
    ASSERT(w->kind < WRITE_KINDS);
    w->kept = !w->refused && writings[w->kind](m, w) ? STORE_KEPT : STORE_LOST;
  }
  uv_mutex_unlock(&m->lock);
  return PLACE_WROTE;
}

static void clean(struct store_place *p, int64_t now) {
  struct memory *m = memory_of(p);
  uv_mutex_lock(&m->lock);
  memory_drop_old_pieces(m, now);
  memory_drop_old_records(m, now);
  memory_drop_old_notes(m, now);
  uv_mutex_unlock(&m->lock);
}

static struct store_place *open_place(const struct store_options *opt, bool spare) {
  struct memory *m = MEM_NEW(struct memory);
  m->place = (struct store_place){&store_memory, opt, spare};
  m->seed = rand_hash_key(opt->rand);
  uv_mutex_init(&m->lock);
  map_init(&m->pieces, &m->seed);
  map_init(&m->owners, &m->seed);
  map_init(&m->documents, &m->seed);
  map_init(&m->notes_by_id, &m->seed);
  map_init(&m->kinds, &m->seed);
  list_init(&m->by_use);
  list_init(&m->by_age);
  list_init(&m->records);
  list_init(&m->notes);
  m->last_record = m->last_note = spare ? SPARE_FIRST : 0;
  return &m->place;
}

static void close_place(struct store_place *p) {
  struct memory *m = memory_of(p);
  memory_drop_pieces(m);
  memory_drop_archive(m);
  memory_drop_notes(m);
  ASSERT(m->usage.count == 0 && m->usage.bytes == 0 && m->archive_bytes == 0);
  ASSERT(map_count(&m->owners) == 0 && map_count(&m->notes_by_id) == 0 && map_count(&m->kinds) == 0);
  map_done(&m->pieces);
  map_done(&m->owners);
  map_done(&m->documents);
  map_done(&m->notes_by_id);
  map_done(&m->kinds);
  uv_mutex_destroy(&m->lock);
  mem_free(m);
}

const struct store_backend store_memory = {
    .name = "memory",
    .open = open_place,
    .close = close_place,
    .write = write_group,
    .clean = clean,
    .find_piece = memory_find_piece,
    .count_pieces = memory_count_pieces,
    .find_records = memory_find_records,
    .load_document = memory_load_document,
    .list_documents = memory_list_documents,
    .find_notes = memory_find_notes,
};
