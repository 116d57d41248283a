// SPDX-License-Identifier: Apache-2.0
// Internals of pack.c and of the files that implement its steps.
#pragma once
#include "context/pack.h"

// Sets the words and the scores of the included items (pack_score.c).
void pack_score(const struct pack_order *order, struct pack *p, struct arena *scratch);

// Returns whether two sets have nearly the same words; false if a set is empty.
bool pack_same_words(const struct pack_words *x, const struct pack_words *y);

// Returns all items, sorted by descending score, then by id. The list is in the arena.
struct pack_item **pack_ranked(const struct pack *p, struct arena *a);

// Sets `block` (the event as text of the prompt), `tokens` and `alone` of an item (pack_render.c).
void pack_render(struct pack_item *it, struct arena *a);

// Returns the block "[FACTS]" with the first facts that fit into `tokens` tokens; an empty text if no fact fits.
str pack_render_facts(const str *facts, size_t count, size_t tokens, struct arena *a);
