// SPDX-License-Identifier: Apache-2.0
// Browsing for clients that cache prompts: what was shown once in a session is shown again byte for byte, before what
// is new.
//
// The state belongs to one session: it is cleared when what that sees of the catalog changes. It is bounded: once it is
// full, what is not in it yet is shown as new every time, and what is in it stays.
#pragma once
#include "base/map.h"
#include "catalog/directory/card.h"

#define SEEN_MARKER "__cache_breakpoint__"  // the id of the card between old and new

struct seen {
  struct map by_id;
  struct arena arena;
  size_t max_bytes;  // of the arena
};

void seen_init(struct seen *s, size_t max_bytes, const struct hash_key *seed);
void seen_done(struct seen *s);
void seen_clear(struct seen *s);

// An item was used by its id (hydrated, called) with success. Its card is frozen when it is first shown.
void seen_note(struct seen *s, str id);

// Puts the cards of an answer in order: those seen before, as they were first shown, by id; a marker, where something
// stands on both sides of it; then the new ones, by id. All of them are seen from then on, so whatever is not to be
// shown must have been cut away before. The marker takes no card's place: out has room for count + 1. Gives the number
// of cards in out; their slices live in `cards` or in s.
size_t seen_arrange(struct seen *s, const struct card *cards, size_t count, struct card *out);
