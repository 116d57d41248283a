// SPDX-License-Identifier: Apache-2.0
// A conversation as chat APIs take it, {"messages": [...]} with whatever else, that must not grow without end: its
// oldest turns go to the archive (store/archive.h), and leave the conversation only when they are there for good.
//
// A turn is a message with those that answer it: an assistant's tool_calls and all replies to them, wherever they are,
// and system messages behind it. It is moved as a whole, so that no reply is ever left without its call.
//
// Every archived message has an id: its own member "id", else one that is made of the message and of all before it. A
// message that is in the archive already, because a process ended before it had saved the shorter conversation, is not
// added again.
#pragma once
#include "store/archive.h"
#include "json/json.h"

enum { CONVERSATION_MESSAGES = 100000, CONVERSATION_ID_BYTES = 512 };

#define CONVERSATION_OWNER "conversations"  // of everything in the store
#define CONVERSATION_KIND "message"

struct conversation {
  const struct json *root;
  const struct json **messages;
  size_t count;
  size_t leading;  // system messages before anything else: they always stay
};

// False: it has no list of messages, or one that is too long, or one of them is no object.
bool conversation_read(const struct json *root, struct arena *a, struct conversation *out, struct fault *f);

// A context id: some text on one line, without control characters.
bool conversation_id_ok(str id);

// What a message weighs: its text, and the names and arguments of its calls.
size_t conversation_tokens(const struct json *message, struct arena *scratch);
size_t conversation_quarters(const struct json *message, struct arena *scratch);  // characters / 4, rounded up

// All text of a message, as it is searched.
str conversation_text(const struct json *message, struct arena *a);

// Where turns begin among the messages behind the leading ones, ascending; the first is c->leading. In the arena.
size_t *conversation_turns(const struct conversation *c, struct arena *a, size_t *out_count);

struct trim_order {
  struct store *store;  // without a loop
  str context;
  size_t limit;    // of what is behind the leading system messages, which do not count, nor does the marker
  bool estimated;  // limit in characters / 4, not in tokens
};

struct trimmed {
  str text;      // the conversation as it is now; the same bytes when nothing had to go
  size_t moved;  // messages that left it
  size_t added;  // of these, that were not in the archive yet
  size_t size;   // of what counts, in the unit of the limit
  bool over;     // the last turn alone is over the limit: it stays
};

// What left is durable when this returns true. In its place is one system message, the marker, that says how many there
// are and where. False: nothing left the conversation.
bool conversation_trim(const struct trim_order *order, const struct conversation *c, struct arena *a,
                       struct trimmed *out, struct fault *f);

// Saves a conversation under its id, durably and as a whole, or removes it (STR_NONE).
bool conversation_save(struct store *s, str context, str text, struct fault *f);

// Byte for byte what was saved. FAULT_NOT_FOUND: nothing.
bool conversation_load(struct store *s, str context, struct arena *a, str *out, struct fault *f);

// The ids of those that are saved, in their order by bytes; at most `max`. In the arena.
bool conversation_saved(struct store *s, size_t max, struct arena *a, str **out, size_t *out_count, struct fault *f);
