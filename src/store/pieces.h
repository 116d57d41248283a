// SPDX-License-Identifier: Apache-2.0
// Stores pieces of results. A piece is bytes stored under a handle; only the owner who stored it can find it.
//
// If the limits are exceeded, expired pieces are dropped first, then the least recently used ones.
#pragma once
#include "base/arena.h"
#include "base/crypto/hash.h"
#include "store/store.h"

enum { PIECE_ROW_BYTES = 64 << 10 };  // a piece with more bytes is large: its bytes are not copied when it is found

// The origin of a piece: the configured names of the server and its tool; empty if unknown. A piece of a resource or a
// prompt has no tool.
struct piece_origin {
  str server, tool;
};

struct store_piece {
  str handle;
  int kind;  // a number whose meaning only the caller knows
  str tool_id, media_type, label;
  str bytes;
  unsigned char hash[SHA256_SIZE];  // SHA-256 of the bytes
  struct piece_origin origin;       // origin of its batch; set only in a found piece
};

// Returns the number of bytes that are counted for a piece when limits are checked.
uint64_t piece_cost(const struct store_piece *p);

// Pieces of one owner and one origin that are stored together, all or none. Only one thread may use a batch at a time.
struct piece_batch;

struct piece_batch *piece_batch_new(struct store *s, str owner, struct piece_origin origin);
void piece_batch_free(struct piece_batch **b);  // frees a batch that was not passed to pieces_put

// Adds a copy of a piece. If `block` is not NULL, it must be heap memory (base/mem.h) that holds the bytes: the batch
// takes ownership instead of copying the bytes. Returns false, without taking `block`, if the batch would exceed the
// limits.
bool piece_batch_add(struct piece_batch *b, const struct store_piece *p, char *block);
size_t piece_batch_count(const struct piece_batch *b);
str piece_batch_handle(const struct piece_batch *b, size_t i);

// Stores a batch, and takes ownership of it. Then calls w->done: STORE_KEPT means that all pieces are durable. `w` may
// be NULL. Must be called on the loop.
void pieces_put(struct store *s, struct piece_batch **b, struct store_wait *w);

// Keeps the bytes of a found piece valid. Each backend embeds it in its own struct, which owns those bytes.
struct piece_hold {
  // Implements found_piece_intact. NULL if the bytes cannot change.
  bool (*intact)(const struct piece_hold *h, const struct store_piece *p);
  void (*release)(struct piece_hold *h);
};

// A found piece, valid until found_piece_release. May outlive the store.
struct found_piece {
  struct store_piece piece;
  struct piece_hold *hold;
  bool damaged;  // the stored bytes are incomplete, and piece.bytes is empty
};

struct piece_find {
  struct store_read read;    // ok means that the piece exists
  struct found_piece found;  // set if the read is ok; the caller must release it (found_piece_release)
  str owner, handle;
  struct found_piece first;  // private
};

// Finds the piece of `owner` with this handle, and marks the piece as used. The read fails if this owner has no such
// piece. The failure does not show whether the handle is unknown, dropped or another owner's.
void pieces_find(struct store *s, str owner, str handle, struct piece_find *find);
void found_piece_release(struct found_piece *p);  // may be called on any thread; a second call has no effect

enum { PIECE_CHECKED_BYTES = 1 << 20 };  // maximum size of a piece whose hash found_piece_intact checks

// Returns whether the bytes of a found piece are still the bytes that were stored. Call this function after reading the
// bytes, because the missing bytes of a truncated file read as zeros. Any thread may call it. Checks the hash of a
// piece of up to PIECE_CHECKED_BYTES, and only the size of a larger piece.
bool found_piece_intact(const struct found_piece *p);
void pieces_report_damaged(const struct store *s, const struct found_piece *p);  // logs that the piece is damaged

struct piece_usage {
  uint64_t count, bytes;
};

struct piece_count {
  struct store_read read;
  str owner;
  struct piece_usage usage;
};
void pieces_count(struct store *s, str owner, struct piece_count *count);  // empty owner: all owners
