// SPDX-License-Identifier: Apache-2.0
// Gives handles to the stored pieces of results (store/pieces.h), so that an agent can view a piece later. The handle
// of a piece is `kind:tool_id:first 16 hex digits of the SHA-256 of its bytes`. Only the owner of a piece can find it:
// callers cannot distinguish unknown, foreign and expired handles.
//
// The handle is known as soon as a piece is added to a batch of store writes. Do not send the handle to an agent before
// the store has confirmed this batch.
#pragma once
#include "store/pieces.h"

enum artifact_kind { ARTIFACT_TEXT, ARTIFACT_STRUCTURED, ARTIFACT_IMAGE, ARTIFACT_AUDIO, ARTIFACT_RESOURCE };

enum { ARTIFACT_DIGITS = 16 };  // hexadecimal digits at the end of a handle

struct artifact {
  enum artifact_kind kind;
  str tool_id;
  str media_type;
  str label;
  str bytes;
};

struct artifact_name {
  str handle;
  str content_hash;  // SHA-256 of the piece's bytes, in hex
};

// Adds a piece to a batch of store writes. If `block` is not NULL, `block` must be heap memory that holds the piece's
// bytes, and the batch takes ownership of this memory; otherwise the bytes are copied. Returns false, without taking
// `block`, if the piece exceeds the limits. *out is always set; its strings are in the arena.
bool artifact_add(struct piece_batch *b, const struct artifact *piece, char *block, struct arena *a,
                  struct artifact_name *out);

// Returns whether the text begins with the name of an artifact kind and a colon, as every handle does.
bool artifact_begins(str s);

struct found_artifact {
  struct artifact artifact;
  struct piece_find find;  // holds the piece's bytes; find.read.ok says whether the piece was found
  void (*done)(struct found_artifact *f);
};

// Finds the piece of `owner` with this handle and marks the piece as used. Then calls out->done unless out->done is
// NULL. The piece is valid until artifact_release. *out, `owner` and `handle` must stay valid until `done` is called.
void artifact_find(struct store *s, str owner, str handle, struct found_artifact *out);
void artifact_release(struct found_artifact *f);  // may be called twice
