// SPDX-License-Identifier: Apache-2.0
// Pieces of results: bytes under a handle that the owner who put them finds again. Up to PIECE_ROW_BYTES they are in
// the database; what is larger is a file, named by the SHA-256 of its bytes, in the folder artifacts/.
//
// A file is there, whole and synced, before the row that names it; it leaves after the last such row. Both happen while
// the database is locked for writing, so that no process removes what another one has just named.
//
// Bounds: what is too old leaves, then, when there is not enough room, what was not used for the longest time.
#pragma once
#include "base/arena.h"
#include "base/hash.h"
#include "store/store.h"

enum { PIECE_ROW_BYTES = 64 << 10 };

// What it is of, by the names that its operator and its server gave; empty: not known. A piece of a resource or a
// prompt has no tool.
struct piece_origin {
  str server, tool;
};

struct store_piece {
  str handle;
  int kind;  // the caller's own number
  str tool_id, media_type, label;
  str bytes;
  unsigned char hash[SHA256_SIZE];  // of the bytes
  struct piece_origin origin;       // of one that was found: its batch's
};

// What one piece counts for, against the bounds.
uint64_t piece_cost(const struct store_piece *p);

// Pieces of one owner and one origin that are put together, all or none. A batch belongs to one thread at a time.
struct piece_batch;

struct piece_batch *piece_batch_new(struct store *s, str owner, struct piece_origin origin);
void piece_batch_free(struct piece_batch **b);  // one that was not put

// Everything is copied, except for the bytes when `block` is given: heap memory (base/mem.h) that they lie in, and that
// is the batch's from now on. False: the bounds have no room for it beside the others of this batch; the block is not
// taken.
bool piece_batch_add(struct piece_batch *b, const struct store_piece *p, char *block);
size_t piece_batch_count(const struct piece_batch *b);
str piece_batch_handle(const struct piece_batch *b, size_t i);

// On the loop. Takes the batch; `w` is told when all is durable (NULL: nobody wants to know).
void pieces_put(struct store *s, struct piece_batch **b, struct store_wait *w);

// One that was found, until it is released.
struct found_piece {
  struct store_piece piece;
  void *memory;  // that it lies in
  void *mapped;  // and its bytes, when they are mapped
  size_t mapped_n;
  int file;  // that they are of
  struct shared_bytes *shared;
  bool damaged;  // its file is not as long as it was
};

// On any thread. False when this owner has no such piece: a handle that was never given, one of somebody else and one
// that is gone look the same. What is found counts as used.
bool pieces_find(struct store *s, str owner, str handle, struct found_piece *out);
void found_piece_release(struct found_piece *p);  // fine twice

// On any thread, after its bytes were read: are they those that were kept? Of a file that has shrunk meanwhile, zeros
// were read (io/mapped.h). Up to PIECE_CHECKED_BYTES the hash of a file is checked, of a larger one its size.
enum { PIECE_CHECKED_BYTES = 1 << 20 };
bool found_piece_intact(const struct found_piece *p);
void pieces_tell_damaged(const struct store *s, const struct found_piece *p);  // one line in the log

struct piece_usage {
  uint64_t count, bytes;
};
struct piece_usage pieces_usage(struct store *s, str owner);  // owner empty: of all
