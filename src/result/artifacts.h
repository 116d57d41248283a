// SPDX-License-Identifier: Apache-2.0
// Pieces of results, kept so that an agent can look at them later: the store's pieces (store/pieces.h), as results
// speak of them. A piece is found by its handle, `kind:tool_id:first 16 hex digits of the SHA-256 of its bytes`, and
// only by the owner who put it: a handle that was never given, one of somebody else and one that is gone all look the
// same.
//
// The name is known as soon as a piece is added to a batch. It may be told to an agent when the batch was put, and the
// store has said that it is kept.
#pragma once
#include "store/pieces.h"

enum artifact_kind { ARTIFACT_TEXT, ARTIFACT_STRUCTURED, ARTIFACT_IMAGE, ARTIFACT_AUDIO, ARTIFACT_RESOURCE };

enum { ARTIFACT_DIGITS = 16 };  // that a handle ends with

struct artifact {
  enum artifact_kind kind;
  str tool_id;
  str media_type;
  str label;
  str bytes;
};

// How a piece that was added is called.
struct artifact_name {
  str handle;
  str content_hash;  // SHA-256 of its bytes, in hex
};

// Adds a piece as piece_batch_add does: copied, or taken over when its bytes lie in `block`. *out is in the arena.
// False when the piece is larger than the limits allow: *out names it all the same.
bool artifact_add(struct piece_batch *b, const struct artifact *piece, char *block, struct arena *a,
                  struct artifact_name *out);

// Does it begin as a handle does, "kind:"?
bool artifact_begins(str s);

struct found_artifact {
  struct artifact artifact;
  struct piece_find find;  // which it lies in; read.ok: there is one
  void (*done)(struct found_artifact *f);
};

// Finds a piece of this owner. `done` (NULL: nobody) is called as of pieces_find. What is found counts as used, and
// lives until it is released; the struct, owner and handle live until `done`.
void artifact_find(struct store *s, str owner, str handle, struct found_artifact *out);
void artifact_release(struct found_artifact *f);  // fine twice
