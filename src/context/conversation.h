// SPDX-License-Identifier: Apache-2.0
// Limits the size of a conversation, which has the form of chat APIs, {"messages": [...], ...}. Moves the oldest turns
// of the conversation to the archive (store/archive.h). A turn is removed from the conversation after it was stored
// durably.
//
// In this module, a turn is a message with its answers: an assistant's tool_calls, all replies to these calls, and
// system messages that follow. A turn moves as a whole, so that no reply stays without its call.
//
// Every archived message has an id: its member "id", or a hash of the message and all messages before it. A message
// that is already in the archive, because a process ended before it saved the shorter conversation, is not added again.
#pragma once
#include "store/archive.h"
#include "json/json.h"

enum { CONVERSATION_MESSAGES = 100000, CONVERSATION_ID_BYTES = 512 };

#define CONVERSATION_OWNER "conversations"  // owner of these records in the store
#define CONVERSATION_KIND "message"

struct conversation {
  const struct json *root;
  const struct json **messages;
  size_t count;
  size_t leading;  // number of system messages at the start of the conversation, which are never moved
};

// Fails if there is no list of messages, if the list is too long, or if a message is not an object.
bool conversation_read(const struct json *root, struct arena *a, struct conversation *out, struct fault *f);

// Returns whether a context id is valid: not empty, without control characters.
bool conversation_id_ok(str id);

// Returns the size of a message in tokens: its text, and the names and arguments of its calls.
size_t conversation_tokens(const struct json *message, struct arena *scratch);
// Estimates the size of a message in tokens as characters / 4, rounded up.
size_t conversation_quarters(const struct json *message, struct arena *scratch);

// Returns all text of a message, for searches.
str conversation_text(const struct json *message, struct arena *a);

// Returns the index of the first message of each turn, in ascending order. The list is in the arena. The first
// c->leading messages belong to no turn.
size_t *conversation_turns(const struct conversation *c, struct arena *a, size_t *out_count);

struct trim_order {
  struct store *store;  // the store must work without an event loop
  str context;
  size_t limit;    // maximum size of the messages after the leading system messages
  bool estimated;  // measure sizes with conversation_quarters instead of conversation_tokens
};

struct trimmed {
  str text;      // the new conversation; the original bytes if nothing was moved
  size_t moved;  // number of messages moved
  size_t added;  // number of moved messages that were new to the archive
  size_t size;   // size after the move, in the unit of `limit`
  bool over;     // the last turn alone exceeds the limit; it always stays
};

// Moves turns to the archive until the conversation fits the limit; when the function returns true, these turns are
// stored durably. A system message (the marker) replaces the turns. The marker has the number of archived messages and
// the command that shows these messages. On failure, the conversation is unchanged.
bool conversation_trim(const struct trim_order *order, const struct conversation *c, struct arena *a,
                       struct trimmed *out, struct fault *f);

// Saves the conversation `text` under the id `context`, durably. If `text` is STR_NONE, removes the saved conversation.
bool conversation_save(struct store *s, str context, str text, struct fault *f);

// Returns the text of a saved conversation. Fails with FAULT_NOT_FOUND if no conversation is saved under the id
// `context`.
bool conversation_load(struct store *s, str context, struct arena *a, str *out, struct fault *f);

// Returns the ids of at most `max` saved conversations, sorted by bytes. The list is in the arena.
bool conversation_saved(struct store *s, size_t max, struct arena *a, str **out, size_t *out_count, struct fault *f);
