// SPDX-License-Identifier: Apache-2.0
// Browsing for clients that cache prompts: cards that were already shown in a session come first and are repeated byte
// for byte; new cards follow.
//
// The state belongs to one session and is cleared when the part of the catalog that the session sees changes. The state
// is bounded: when it is full, cards that it does not contain count as new every time.
#pragma once
#include "base/map.h"
#include "catalog/directory/card.h"

#define SEEN_MARKER "__cache_breakpoint__"  // id of the marker, a card between old and new cards

struct seen {
  struct map by_id;
  struct arena arena;
  size_t max_bytes;  // limit of the arena
};

void seen_init(struct seen *s, size_t max_bytes, const struct hash_key *seed);
void seen_done(struct seen *s);
void seen_clear(struct seen *s);

// Records that an item was used successfully. Its card is stored when it is first shown.
void seen_note(struct seen *s, str id);

// Orders the cards of an answer: first the cards that were shown before, unchanged and sorted by id; then a marker, if
// there are both old and new cards; then the new cards, sorted by id. All cards then count as shown, so `cards` must
// not contain cards that will be left out. `out` must have space for count + 1 cards. Returns the number of cards in
// `out`; their strings point into `cards` or `s`.
size_t seen_arrange(struct seen *s, const struct card *cards, size_t count, struct card *out);
