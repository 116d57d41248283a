// SPDX-License-Identifier: Apache-2.0
// The interface between the files of the memory backend.
#pragma once
#include "base/assert.h"
#include "base/map.h"
#include "store/backend.h"

struct memory {
  struct store_place place;
  uv_mutex_t lock;  // protects all following members
  struct hash_key seed;

  struct map pieces;  // struct kept_piece by owner and handle
  struct map owners;  // struct kept_owner by name
  // Both lists contain all pieces: by_use begins with the least recently used piece, by_age with the oldest one.
  struct list by_use, by_age;
  struct piece_usage usage;

  struct list records;   // struct kept_record, in the order of their numbers
  struct map documents;  // documents (struct kept_document) by owner and name
  uint64_t last_record;  // number of the record that was added last
  uint64_t archive_bytes;

  struct map notes_by_id;  // notes (struct kept_note) by space and id
  struct map kinds;        // struct kept_kind by space
  struct list notes;       // in the order of their numbers
  uint64_t last_note;      // number of the last note
};

static inline struct memory *memory_of(struct store_place *p) {
  ASSERT(p->backend == &store_memory);
  return CONTAINER_OF(p, struct memory, place);
}

// Joins two names to a key, in heap memory that the caller must free with memory_key_free.
str memory_key(str first, str second);
void memory_key_free(str key);
void *memory_find(const struct map *m, str first, str second);

// memory_put_pieces and the next four functions apply one kind of write each. They return false and change nothing if
// the limits do not allow the write.
bool memory_put_pieces(struct memory *m, struct store_write *w);
bool memory_use_piece(struct memory *m, struct store_write *w);
bool memory_add_records(struct memory *m, struct store_write *w);
bool memory_save_document(struct memory *m, struct store_write *w);
bool memory_write_note(struct memory *m, struct store_write *w);

void memory_drop_old_pieces(struct memory *m, int64_t now);
void memory_drop_old_records(struct memory *m, int64_t now);
void memory_drop_old_notes(struct memory *m, int64_t now);
void memory_drop_pieces(struct memory *m);   // drops all pieces
void memory_drop_archive(struct memory *m);  // drops all records and documents
void memory_drop_notes(struct memory *m);    // drops all notes

void memory_find_piece(struct store_place *p, struct piece_find *r);
void memory_count_pieces(struct store_place *p, struct piece_count *r);
void memory_find_records(struct store_place *p, struct archive_search *x);
void memory_load_document(struct store_place *p, struct archive_loading *x);
void memory_list_documents(struct store_place *p, struct archive_listing *x);
void memory_find_notes(struct store_place *p, struct entry_search *x);
