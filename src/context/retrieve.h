// SPDX-License-Identifier: Apache-2.0
// Searches archived messages of conversations by context, time and text.
#pragma once
#include "context/conversation.h"

enum { RETRIEVE_RANKED = 10000 };  // newest records that a ranked search reads

struct retrieve_order {
  struct store *store;
  str context;                // empty: all contexts
  int64_t from_ms, until_ms;  // time of archiving, until_ms exclusive; 0: no bound
  str contains;               // text in a message, ignoring ASCII case; may be empty
  str search;                 // words to rank messages by, best first; empty: messages are in the order of the archive
  size_t limit;               // maximum number of messages; 0: all or, in a ranked search, SEARCH_MOST_HITS
};

struct retrieved {
  str context, message_id;
  uint64_t number;
  int64_t time_ms;
  bool duplicate;  // an equal message of the same context was returned before
  double score;    // score in a ranked search
  str message;     // the original JSON
};

// Calls `each` for every match, until it returns false. Returns false, with the reason in f, if the search fails.
bool retrieve(const struct retrieve_order *order, bool (*each)(void *ctx, const struct retrieved *r), void *ctx,
              struct fault *f);
