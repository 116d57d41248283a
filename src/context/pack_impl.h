// SPDX-License-Identifier: Apache-2.0
// Internals of pack.c and of the files that implement its steps.
#pragma once
#include "context/pack.h"

// pack_score.c: sets the words and scores of the included items.
void pack_score(const struct pack_order *order, struct pack *p, struct arena *scratch);

// Returns whether two sets have nearly the same words; false if a set is empty.
bool pack_same_words(const struct pack_words *x, const struct pack_words *y);

// Returns all items in the arena, best first: by descending score, then by id.
struct pack_item **pack_ranked(const struct pack *p, struct arena *a);

// pack_render.c: sets block, tokens and alone of an item.
void pack_render(struct pack_item *it, struct arena *a);

// Returns the block [FACTS] with the facts that fit; an empty text if none fits.
str pack_render_facts(const str *facts, size_t count, size_t tokens, struct arena *a);
