// SPDX-License-Identifier: Apache-2.0
// Pieces of results: bytes stored under a handle. Only the owner who put a piece finds it.
//
// Limits: old pieces are dropped first, then, if more room is needed, the least recently used ones.
#pragma once
#include "base/arena.h"
#include "base/crypto/hash.h"
#include "store/store.h"

enum { PIECE_ROW_BYTES = 64 << 10 };  // larger pieces are not copied when they are found

// The origin of a piece: the name of the server in the configuration and of the tool; empty: unknown. A piece of a
// resource or a prompt has no tool.
struct piece_origin {
  str server, tool;
};

struct store_piece {
  str handle;
  int kind;  // the caller's own number
  str tool_id, media_type, label;
  str bytes;
  unsigned char hash[SHA256_SIZE];  // of the bytes
  struct piece_origin origin;       // in a found piece: the origin of its batch
};

// The bytes that a piece counts against the limits.
uint64_t piece_cost(const struct store_piece *p);

// Pieces of one owner and one origin that are stored together, all or none. A batch belongs to one thread at a time.
struct piece_batch;

struct piece_batch *piece_batch_new(struct store *s, str owner, struct piece_origin origin);
void piece_batch_free(struct piece_batch **b);  // for a batch that was not put

// Copies everything, except for the bytes if `block` is given: heap memory (base/mem.h) that holds them, and that the
// batch takes. Returns false, without taking the block, if the limits have no room for it in this batch.
bool piece_batch_add(struct piece_batch *b, const struct store_piece *p, char *block);
size_t piece_batch_count(const struct piece_batch *b);
str piece_batch_handle(const struct piece_batch *b, size_t i);

// On the loop. Takes the batch; calls w->done when all of it is durable. w may be NULL.
void pieces_put(struct store *s, struct piece_batch **b, struct store_wait *w);

// Owner of the bytes of a found piece; embedded in the backend's own struct.
struct piece_hold {
  bool (*intact)(const struct piece_hold *h, const struct store_piece *p);  // NULL: the bytes cannot change
  void (*release)(struct piece_hold *h);
};

// A found piece, valid until found_piece_release. It may outlive the store.
struct found_piece {
  struct store_piece piece;
  struct piece_hold *hold;
  bool damaged;  // the stored bytes are incomplete: piece.bytes is empty
};

struct piece_find {
  struct store_read read;    // ok: the piece exists
  struct found_piece found;  // the caller's if ok
  str owner, handle;
  struct found_piece first;  // private
};

// Not ok if this owner has no such piece: an unknown handle, another owner's and a dropped one look the same. A found
// piece counts as used.
void pieces_find(struct store *s, str owner, str handle, struct piece_find *find);
void found_piece_release(struct found_piece *p);  // on any thread; a second call is harmless

// On any thread, after reading the bytes: returns whether they are the stored ones; missing bytes read as zeros. Checks
// the hash up to PIECE_CHECKED_BYTES, the size of a larger piece.
enum { PIECE_CHECKED_BYTES = 1 << 20 };
bool found_piece_intact(const struct found_piece *p);
void pieces_report_damaged(const struct store *s, const struct found_piece *p);  // writes one line to the log

struct piece_usage {
  uint64_t count, bytes;
};

struct piece_count {
  struct store_read read;
  str owner;
  struct piece_usage usage;
};
void pieces_count(struct store *s, str owner, struct piece_count *count);  // empty owner: all owners
