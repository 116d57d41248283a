// SPDX-License-Identifier: Apache-2.0
// The steps of pack.c that have files of their own.
#pragma once
#include "context/pack.h"

// pack_score.c: words and scores of those that are included so far.
void pack_score(const struct pack_order *order, struct pack *p, struct arena *scratch);

// Do they say much the same? Not when one of them has no words.
bool pack_same_words(const struct pack_words *x, const struct pack_words *y);

// Best first: score descending, then id ascending by bytes. In the arena.
struct pack_item **pack_ranked(const struct pack *p, struct arena *a);

// pack_render.c: fills block, tokens and alone of an item.
void pack_render(struct pack_item *it, struct arena *a);

// The lines below [FACTS]; empty when there are none, or not one of them fits.
str pack_render_facts(const str *facts, size_t count, size_t tokens, struct arena *a);
