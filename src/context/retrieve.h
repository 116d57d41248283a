// SPDX-License-Identifier: Apache-2.0
// Finding what left a conversation: by its context, when it was archived, what it says.
#pragma once
#include "context/conversation.h"

enum { RETRIEVE_RANKED = 10000 };  // the newest records, that a ranked search looks at

struct retrieve_order {
  struct store *store;
  str context;                // empty: of all
  int64_t from_ms, until_ms;  // archived not before, and before; 0: no bound
  str contains;               // in the text of a message, ASCII letters in either case; empty: anything
  str search;                 // words: the best come first; empty: in the order of the archive
  size_t limit;               // 0: all (of a search: SEARCH_MOST_HITS)
};

struct retrieved {
  str context, message_id;
  uint64_t number;
  int64_t time_ms;
  bool duplicate;  // the same message of the same context was found before
  double score;    // of a search
  str message;     // JSON, as it was
};

// Calls `each` for what is found, which returns false to stop. False: f says why it could not be looked for.
bool retrieve(const struct retrieve_order *order, bool (*each)(void *ctx, const struct retrieved *r), void *ctx,
              struct fault *f);
