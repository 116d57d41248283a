// SPDX-License-Identifier: Apache-2.0
// The record of one routing decision: the cards that a query found, whether the best scores are close, and the card
// that the model selected.
#pragma once
#include "base/crypto/rand.h"
#include "catalog/directory/selection.h"
#include "json/json.h"

enum { DECISION_ID_SIZE = sizeof "rd-00000000-0000-4000-8000-000000000000" };

// Writes "rd-" and a random UUID (version 4).
void decision_id(const struct rand_source *r, char out[DECISION_ID_SIZE]);

struct decision {
  str id;
  str timestamp;
  str query;
  const struct json *cards;           // an array of cards, as written by card_write
  const struct selection *selection;  // NULL if nothing was selected
};

// Writes {"id", "choice_cards", "timestamp", "selected_item_id", "selected_card_id", "context_summary", "metadata"}.
// selected_item_id is the selected id; if the selection was rejected, it is the model's text, and selected_card_id is
// null. Returns false, with nothing written, if there are no cards.
bool decision_write(struct json_writer *w, const struct decision *d, struct arena *a, struct fault *f);
