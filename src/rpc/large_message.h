// SPDX-License-Identifier: Apache-2.0
// A large reply and its memory. A worker thread (io/job.h) parses it, because parsing is slow. Its text and nodes live
// until the last reference is released.
//
// Members of `result` with very many values, such as content, are folded: their text is kept, but gets no nodes
// (json/json.h). Members that the gateway itself reads are never folded: a reply with too many values in such a member
// is rejected.
#pragma once
#include "io/job.h"
#include "rpc/message.h"

enum { LARGE_MESSAGE_LEAST = 1 << 20 };  // minimum bytes of a large message; smaller ones are parsed on the loop thread

struct large_message {
  uint32_t magic;
  unsigned refs;
  struct loop *loop;
  struct buf memory;  // contains the text
  str text;
  uint64_t id;  // id of the request that the reply answers
  struct json_limits limits;
  bool remove_hidden;  // remove hidden characters from texts (text/hidden.h)
  struct bulk_hold hold;
  struct arena arena;
  struct job job;
  void (*opened)(void *ctx, struct large_message *p);
  void *ctx;
  // The following members are set when `opened` is called.
  bool good;                   // the text is a valid reply
  struct rpc_message message;  // the reply, if good
  struct fault fault;          // if not good: FAULT_PROTOCOL or FAULT_UPSTREAM_ERROR
};

// Finds the id of the request that `text` answers. Returns false if `text` does not look like a reply. Does not
// validate the text.
bool large_message_answers(str text, uint64_t *out_id);

// Takes ownership of `memory`, which contains `text`. Returns a large message with one reference.
struct large_message *large_message_new(struct loop *l, struct buf *memory, str text, uint64_t id, size_t max_bytes);
struct large_message *large_message_ref(struct large_message *p);
void large_message_unref(struct large_message **large_message);  // NULL is fine

// Replaces the id of the reply in place and sets *out to the new text; the parsed nodes become invalid. Returns false
// and changes nothing if too much text would have to move.
bool large_message_rename(struct large_message *p, str id, str *out);

// Frees text and nodes. The message counts against the limit on large messages until its last reference is released.
void large_message_empty(struct large_message *p);

// Parses the message on a worker thread, then calls `opened` once on the loop thread, unless large_message_forget was
// called first.
void large_message_open(struct large_message *p, void (*opened)(void *ctx, struct large_message *p), void *ctx);
void large_message_forget(struct large_message *p);
