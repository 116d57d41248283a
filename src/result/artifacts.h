// SPDX-License-Identifier: Apache-2.0
// Names stored pieces of results (store/pieces.h), which an agent can view later. The handle of a piece is
// `kind:tool_id:first 16 hex digits of the SHA-256 of its bytes`. Only its owner finds it: unknown, foreign and expired
// handles are indistinguishable.
//
// The name is known as soon as a piece is added to a batch. Do not send it to an agent before the store has confirmed
// the batch.
#pragma once
#include "store/pieces.h"

enum artifact_kind { ARTIFACT_TEXT, ARTIFACT_STRUCTURED, ARTIFACT_IMAGE, ARTIFACT_AUDIO, ARTIFACT_RESOURCE };

enum { ARTIFACT_DIGITS = 16 };  // at the end of a handle

struct artifact {
  enum artifact_kind kind;
  str tool_id;
  str media_type;
  str label;
  str bytes;
};

// The name of a piece.
struct artifact_name {
  str handle;
  str content_hash;  // SHA-256 of its bytes, in hex
};

// Adds a piece as piece_batch_add does: copies its bytes, or takes `block` if they are in it. *out is in the arena.
// Returns false if the piece exceeds the limits; *out is set as well.
bool artifact_add(struct piece_batch *b, const struct artifact *piece, char *block, struct arena *a,
                  struct artifact_name *out);

// Returns whether the text starts like a handle, "kind:".
bool artifact_begins(str s);

struct found_artifact {
  struct artifact artifact;
  struct piece_find find;  // holds the bytes; read.ok: found
  void (*done)(struct found_artifact *f);
};

// Finds a piece of this owner, and counts it as used. Calls `done`, which may be NULL, as pieces_find does. The piece
// is valid until its release; the struct, owner and handle must stay valid until `done`.
void artifact_find(struct store *s, str owner, str handle, struct found_artifact *out);
void artifact_release(struct found_artifact *f);  // may be called twice
