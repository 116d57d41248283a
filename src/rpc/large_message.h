// SPDX-License-Identifier: Apache-2.0
// A large reply with the memory that it lies in. It is read by another thread (io/job.h), since that takes its time;
// its text and its nodes live for as long as somebody has the parcel.
//
// Of what is in `result`, members that hold very many values are folded (json/json.h): content, structuredContent and
// their like. What the gateway itself looks into is not: more values than that may have are a fault.
#pragma once
#include "io/job.h"
#include "rpc/message.h"

enum { LARGE_MESSAGE_LEAST = 1 << 20 };  // smaller messages are read where they come in

struct large_message {
  unsigned refs;
  struct loop *loop;
  struct buf memory;  // that the text is in
  str text;
  uint64_t id;  // of the request that it answers
  struct json_limits limits;
  bool remove_hidden;  // hidden characters are removed from its texts (text/hidden.h)
  struct bulk_hold hold;
  struct arena arena;
  struct job job;
  void (*opened)(void *ctx, struct large_message *p);
  void *ctx;
  // When it was opened:
  bool good;                   // it is a reply
  struct rpc_message message;  // then this
  struct fault fault;          // else FAULT_PROTOCOL, or FAULT_UPSTREAM_ERROR
};

// The id of the request that a text answers, if it looks like a reply; what is in it is not looked at.
bool large_message_answers(str text, uint64_t *out_id);

// Takes the memory, in which the text is.
struct large_message *large_message_new(struct loop *l, struct buf *memory, str text, uint64_t id, size_t max_bytes);
struct large_message *large_message_ref(struct large_message *p);
void large_message_unref(struct large_message **p);  // NULL is fine

// The reply under another id, in its own memory, when that is possible without moving all of it; *out is the text, and
// the nodes are worth nothing any more. False: nothing was changed.
bool large_message_rename(struct large_message *p, str id, str *out);

// Text and nodes are needed no more. What was made of them still counts for as much, until the parcel goes.
void large_message_empty(struct large_message *p);

// Reads it. `opened` is called later, once, unless large_message_forget comes before.
void large_message_open(struct large_message *p, void (*opened)(void *ctx, struct large_message *p), void *ctx);
void large_message_forget(struct large_message *p);
