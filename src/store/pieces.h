// SPDX-License-Identifier: Apache-2.0
// Pieces of results: bytes under a handle that the owner who put them finds again.
//
// Bounds: what is too old leaves, then, when there is not enough room, what was not used for the longest time.
#pragma once
#include "base/arena.h"
#include "base/crypto/hash.h"
#include "store/store.h"

enum { PIECE_ROW_BYTES = 64 << 10 };  // what is larger is not copied when it is found

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

// What keeps the bytes of a piece that was found; the backend's own.
struct piece_hold {
  bool (*intact)(const struct piece_hold *h, const struct store_piece *p);  // NULL: they cannot change
  void (*release)(struct piece_hold *h);
};

// One that was found, until it is released. It may outlive the store.
struct found_piece {
  struct store_piece piece;
  struct piece_hold *hold;
  bool damaged;  // what was kept is not whole: it has no bytes
};

struct piece_find {
  struct store_read read;    // ok: there is one
  struct found_piece found;  // the caller's, if there is one
  str owner, handle;
  struct found_piece first;  // private
};

// False when this owner has no such piece: a handle that was never given, one of somebody else and one that is gone
// look the same. What is found counts as used.
void pieces_find(struct store *s, str owner, str handle, struct piece_find *find);
void found_piece_release(struct found_piece *p);  // on any thread; fine twice

// On any thread, after its bytes were read: are they those that were kept? Zeros may have been read in place of what is
// missing. Up to PIECE_CHECKED_BYTES the hash is checked, of a larger piece the size.
enum { PIECE_CHECKED_BYTES = 1 << 20 };
bool found_piece_intact(const struct found_piece *p);
void pieces_tell_damaged(const struct store *s, const struct found_piece *p);  // one line in the log

struct piece_usage {
  uint64_t count, bytes;
};

struct piece_count {
  struct store_read read;
  str owner;
  struct piece_usage usage;
};
void pieces_count(struct store *s, str owner, struct piece_count *count);  // owner empty: of all
