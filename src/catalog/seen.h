// SPDX-License-Identifier: Apache-2.0
// Browsing for clients that cache prompts: cards that were shown once in a session are shown again byte for byte,
// before new ones.
//
// The state belongs to one session and is cleared when its visible part of the catalog changes. It is bounded: once it
// is full, further cards are shown as new every time, and stored ones stay.
#pragma once
#include "base/map.h"
#include "catalog/directory/card.h"

#define SEEN_MARKER "__cache_breakpoint__"  // id of the card between old and new ones

struct seen {
  struct map by_id;
  struct arena arena;
  size_t max_bytes;  // of the arena
};

void seen_init(struct seen *s, size_t max_bytes, const struct hash_key *seed);
void seen_done(struct seen *s);
void seen_clear(struct seen *s);

// Notes that an item was used by its id (hydrated, called) successfully. Its card is frozen when it is first shown.
void seen_note(struct seen *s, str id);

// Orders the cards of an answer: those shown before, unchanged, by id; a marker, if there are cards on both sides of
// it; then the new ones, by id. All of them count as shown, so the caller must have removed cards that it does not
// show. The marker needs its own place: out has room for count + 1. Returns the number of cards in out; their slices
// are in `cards` or in s.
size_t seen_arrange(struct seen *s, const struct card *cards, size_t count, struct card *out);
