// SPDX-License-Identifier: Apache-2.0
// Dead letters: actions that the gateway could not bring to an end, and that a person must settle. Examples are calls
// that may have had their effect. A dead letter is an entry of the store (store/shared.h) and is kept for 30 days.
#pragma once
#include "store/shared.h"
#include "json/write.h"

enum { DEAD_LETTER_ID_SIZE = 3 + 16 + 1 };                           // "dl_", 16 hexadecimal digits and a NUL
static const uint64_t DEAD_LETTER_MS = UINT64_C(30) * 24 * 3600000;  // lifetime

struct dead_letter {
  str id;
  str kind;    // such as "call"
  str reason;  // why it is dead: a code such as UPSTREAM_TIMEOUT
  int64_t at;  // wall clock in milliseconds
  str entry;   // id of the entry that it is about
  str body;    // raw JSON object; stored as the member named by `kind`
};

// Stores a dead letter, or replaces the one with the same id. `w` may be NULL.
void dead_letter_put(struct store *s, const struct dead_letter *l, struct store_wait *w);
void dead_letter_remove(struct store *s, str id, struct store_wait *w);

// Calls `each` for the dead letter with this id or, if `id` is empty, for all of them, the oldest first. `each` returns
// false to stop, and must not use the store. Returns false, with the reason in f, if the store cannot be read.
bool dead_letters_find(struct store *s, str id, bool (*each)(void *ctx, const struct dead_letter *l), void *ctx,
                       struct fault *f);
