// SPDX-License-Identifier: Apache-2.0
// Pieces of results, kept so that an agent can look at them later. A piece is found by its handle,
// `kind:tool_id:first 16 hex digits of the SHA-256 of its bytes`, and only by the owner who put it: a handle that was
// never given, one of somebody else and one that is gone all look the same.
//
// Everything is bounded: what was not used for the longest time leaves first, what is too old is not found. The same
// calls at the same times give the same answers.
#pragma once
#include "base/arena.h"
#include "base/clock.h"
#include "base/rand.h"

enum artifact_kind { ARTIFACT_TEXT, ARTIFACT_STRUCTURED, ARTIFACT_IMAGE, ARTIFACT_AUDIO, ARTIFACT_RESOURCE };

struct artifacts_limits {
  size_t total_bytes;  // of all pieces, names included
  size_t owner_bytes;  // of one owner's
  size_t owner_count;  // pieces of one owner
  uint64_t age_ms;     // since a piece was put, or put again
};

extern const struct artifacts_limits artifacts_default_limits;  // 256 MiB, 128 MiB, 512 pieces, an hour

struct artifact {
  enum artifact_kind kind;
  str tool_id;
  str media_type;
  str label;
  str bytes;
};

// How a piece that was put is called.
struct artifact_name {
  str handle;
  str content_hash;  // SHA-256 of its bytes, in hex
};

struct artifacts;

struct artifacts *artifacts_new(const struct artifacts_limits *limits, const struct clock *clock,
                                const struct rand_source *rand);
void artifacts_free(struct artifacts **s);

// Keeps a copy; other pieces may have to leave. The same bytes put again have the same handle, and are young again.
// *out is in the arena. False when the piece is larger than the limits allow: *out names it all the same.
bool artifacts_put(struct artifacts *s, str owner, const struct artifact *piece, struct arena *a,
                   struct artifact_name *out);

// NULL when this owner has no such piece. What is found counts as used, and lives until the next call: any of
// them drops what has become too old.
const struct artifact *artifacts_find(struct artifacts *s, str owner, str handle);

// The same without counting as use.
bool artifacts_holds(struct artifacts *s, str owner, str handle);

// Of all pieces, names included.
size_t artifacts_bytes(const struct artifacts *s);
