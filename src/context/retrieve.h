// SPDX-License-Identifier: Apache-2.0
// Searches archived messages of conversations by context, time and text.
#pragma once
#include "context/conversation.h"

enum { RETRIEVE_RANKED = 10000 };  // a ranked search reads only this number of records, the newest ones

struct retrieve_order {
  struct store *store;
  str context;                // id of the conversation; empty for all conversations
  int64_t from_ms, until_ms;  // range of archiving times in milliseconds, without until_ms itself; 0: no bound
  str contains;               // text in a message, ignoring ASCII case; may be empty
  // Words by which messages are ranked, best first. If empty, messages are in the order of the archive.
  str search;
  // Maximum number of messages. 0 means SEARCH_MOST_HITS in a ranked search, otherwise no limit.
  size_t limit;
};

struct retrieved {
  str context, message_id;
  uint64_t number;
  int64_t time_ms;
  bool duplicate;  // an equal message of the same context was returned before
  double score;    // score in a ranked search
  str message;     // the original JSON
};

// Calls `each` for every message that matches, until `each` returns false. Returns false, with the reason in f, if the
// search fails.
bool retrieve(const struct retrieve_order *order, bool (*each)(void *ctx, const struct retrieved *r), void *ctx,
              struct fault *f);
