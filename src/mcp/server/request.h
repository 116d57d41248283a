// SPDX-License-Identifier: Apache-2.0
// Messages of clients, and requests from their arrival to their answer. A request is answered or cancelled exactly
// once.
#pragma once
#include "base/arena.h"
#include "base/list.h"
#include "mcp/meta.h"
#include "rpc/large_message.h"

struct mcp_server;
struct request;
struct session;

// Embedded in the struct that handles a request, so that the request can be cancelled. Code that answers the request,
// or stops working on it, must set r->work to NULL.
struct work {
  const struct work_ops *ops;
};
struct work_ops {
  const char *name;
  // Called when the client has cancelled r or its session ends. r->work is already NULL; r is freed after this call.
  void (*cancel)(struct work *w, struct request *r, str reason);
};

// An HTTP header of a request that repeats an argument of a tool call (Mcp-Param-*).
struct request_param_header {
  str name, value;  // name without the prefix, in lower case
};

struct request {
  uint32_t magic;
  struct list node;         // in session->requests, or in mcp_server.free_requests
  struct session *session;  // NULL before request_begin
  struct arena arena;       // holds the message
  const struct json *value;
  struct rpc_message msg;  // set when a session receives the request
  struct meta meta;        // of a stateless request; set when the request is checked
  str id;                  // raw JSON
  size_t holds;            // bytes counted in the session and in its intake account
  int status;              // HTTP status of an error answer, for the outlet; 0 for status 200
  bool by_http;            // the request came by HTTP: a tool may require headers to repeat arguments
  struct request_param_header *param_headers;
  size_t param_header_count;
  str traceparent, tracestate;       // HTTP headers, or STR_NONE
  str chain;                         // ids of gateways that the request has passed (mcp/gateway_chain.h), or STR_NONE
  str marks;                         // marks in the request's header (mcp/gateway_chain.h), or STR_NONE
  void *channel;                     // owned by the outlet
  struct work *work;                 // NULL if nothing works on the request
  struct audit_recorder_note *note;  // note for the audit log, owned by the code behind surface_ops; may be NULL
  struct allowance *accounting;      // limits used by the request, owned by the surface; may be NULL
  int code;                          // code of the JSON-RPC error in the answer; 0 if there is no error
};

// Parses a copy of one message of a client. Returns NULL, with a reason in f, if the message is not JSON.
struct request *request_parse(struct mcp_server *m, str text, struct fault *f);
void request_discard(struct mcp_server *m, struct request *r);  // frees r or keeps it for reuse
void requests_free_spare(struct mcp_server *m);

// Adds r to the session's requests in flight. r->msg must be set.
void request_begin(struct request *r, struct session *s, void *channel);

// Answers a request with `result`, a raw JSON object. For a stateless client, adds the members that its revision
// requires in every result. If `result` has a member _meta, it must be the first member and must not be empty.
void request_reply(struct request *r, str result);
void request_reply_whole(struct request *r, str result);  // adds no members
void request_send(struct request *r, struct buf *message,
                  int code);  // sends `message`, a complete reply; `code` is its error code, or 0
// Answers r with the reply of a server, in which the id is replaced by the id of r.
void request_reply_as(struct request *r, const struct rpc_message *reply);
void request_fail(struct request *r, int code, const char *message, str data);
// Ends a request that cannot be answered any more.
void request_cancel(struct request *r, str reason);

void request_suspend(struct request *r);  // releases the connection if the client can get the answer later
// Sets the memory that is counted for the request until the request ends: its arena and `extra` bytes.
void request_holds(struct request *r, size_t extra);

// Returns whether a stateless client declares support for this extension in the request.
bool request_knows(const struct request *r, str extension);

// Returns the progress token of a request, or NULL.
const struct json *request_progress_token(const struct request *r);
