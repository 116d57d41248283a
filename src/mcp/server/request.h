// SPDX-License-Identifier: Apache-2.0
// A message of a client, and a request from its arrival to its answer. A request is answered or cancelled exactly once.
#pragma once
#include "base/arena.h"
#include "base/list.h"
#include "mcp/meta.h"
#include "rpc/large_message.h"

struct mcp_server;
struct request;
struct session;

// The work on a request until its answer, embedded in the struct that does the work. A worker that answers the request,
// or no longer works on it, sets r->work to NULL.
struct work {
  const struct work_ops *ops;
};
struct work_ops {
  const char *name;
  // The client cancelled r, or its session ends. r->work is already NULL; r is freed afterwards.
  void (*cancel)(struct work *w, struct request *r, str reason);
};

// An HTTP header of a request that repeats an argument of a call (Mcp-Param-*).
struct request_param_header {
  str name, value;  // name without the prefix, in lower case
};

struct request {
  uint32_t magic;
  struct list node;         // in session->requests, or in mcp_server.free_requests
  struct session *session;  // NULL before request_begin
  struct arena arena;       // holds the message
  const struct json *value;
  struct rpc_message msg;  // set when a session receives it
  struct meta meta;        // of a stateless request, set when it is checked
  str id;                  // raw
  size_t holds;            // bytes, counted in the session and in its account
  int status;              // for the outlet: HTTP status of an error answer; 0: 200
  bool by_http;            // it came by HTTP: a tool may require arguments to be repeated in headers
  struct request_param_header *param_headers;
  size_t param_header_count;
  str traceparent, tracestate;       // HTTP headers, or STR_NONE
  str chain;                         // gateways that it has passed (mcp/gateway_chain.h), or STR_NONE
  str marks;                         // header with the marks of gateways that its sender passes on, or STR_NONE
  void *channel;                     // owned by the outlet
  struct work *work;                 // NULL: nothing works on it
  struct audit_recorder_note *note;  // owned by the surface, for surface_ops.over; may be NULL
  struct allowance *accounting;      // owned by the surface, for surface_ops.over; may be NULL
  int code;                          // code of the JSON-RPC error that answers it; 0: none
};

// Parses a copy of one message of a client. Returns NULL, with the reason in f, if it is not JSON.
struct request *request_parse(struct mcp_server *m, str text, struct fault *f);
void request_discard(struct mcp_server *m, struct request *r);  // frees it or keeps it as a spare
void requests_free_spare(struct mcp_server *m);

// Puts r, whose message was read, in flight in the session.
void request_begin(struct request *r, struct session *s, void *channel);

// Answers a request. `result` is a raw JSON object; `data` may be empty. A stateless client gets the members that its
// revision adds to every result. If the result has _meta, this is its first member and not empty.
void request_reply(struct request *r, str result);
void request_reply_whole(struct request *r, str result);              // adds no members
void request_send(struct request *r, struct buf *message, int code);  // a complete message; code: of its error, or 0
void request_reply_as(struct request *r, const struct rpc_message *reply);  // forwards a reply under r's id
void request_fail(struct request *r, int code, const char *message, str data);
// Ends a request that can no longer be answered.
void request_cancel(struct request *r, str reason);

void request_suspend(struct request *r);  // its answer will take a while
// Counts `extra` bytes in addition to the arena of the request until it ends.
void request_holds(struct request *r, size_t extra);

// Returns whether a stateless client declares this extension with the request.
bool request_knows(const struct request *r, str extension);

// Returns the progress token of a request, or NULL.
const struct json *request_progress_token(const struct request *r);
