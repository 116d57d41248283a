// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 2.0 messages: telling them apart, and writing them.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

enum rpc_code {
  RPC_PARSE_ERROR = -32700,
  RPC_INVALID_REQUEST = -32600,
  RPC_METHOD_NOT_FOUND = -32601,
  RPC_INVALID_PARAMS = -32602,
  RPC_INTERNAL_ERROR = -32603,
  // MCP's own
  RPC_RESOURCE_NOT_FOUND = -32002,  // up to 2025-11-25; RPC_INVALID_PARAMS since
  RPC_HEADER_MISMATCH = -32020,
  RPC_MISSING_CAPABILITY = -32021,
  RPC_UNSUPPORTED_VERSION = -32022,
  RPC_URL_NEEDED = -32042,  // 2025-11-25: the client is to open a URL, and to call again
};

struct large_message;  // rpc/large_message.h

// Slices and nodes point into the parsed text and its arena.
struct rpc_message {
  enum rpc_kind kind;
  struct large_message *large_message;  // that these are in, when the message is large; else NULL
  const struct json *root;
  const struct json *id;      // a string or number; NULL in a notification, or in an error without one
  str method;                 // requests and notifications
  const struct json *params;  // an object or array; NULL when absent
  const struct json *result;  // RPC_RESULT
  const struct json *error;   // RPC_ERROR: an object
  bool reserved;              // has _meta keys that a server may not send: see rpc_put_unreserved
};

// An error to be told to a peer.
enum { RPC_ERROR_ID = 128 };
struct rpc_error {
  int code;
  const char *message;
  char id[RPC_ERROR_ID];  // raw JSON of the id when it could be read and is short, else empty
};

// A reply that carries it.
void rpc_put_refusal(struct buf *out, const struct rpc_error *err);

// The error for a message that json_parse refused. The error for a message over a limit has the id of the message if
// it can be found, because the sender waits for an answer with that id.
struct rpc_unread {
  struct rpc_error error;
  char text[FAULT_TEXT + FAULT_PATH + 64];
};
void rpc_refuse_unread(str message, const struct fault *why, struct rpc_unread *out);

// Makes a message of a parsed value. False: it is none, or has a member that only looks like one of the protocol
// (rpc/members.h); *err says why, and its code is RPC_INVALID_PARAMS if that member is in params.
bool rpc_read(const struct json *value, struct arena *a, struct rpc_message *out, struct rpc_error *err);

// Two ids are the same when type and value are: 1 is not "1", "\u0061" is "a".
bool rpc_same_id(const struct json *a, const struct json *b);

// Messages as text. id and params are raw JSON; params.n == 0 leaves them out.
void rpc_put_request(struct buf *out, str id, str method, str params);
void rpc_put_notification(struct buf *out, str method, str params);
void rpc_put_result(struct buf *out, str id, str result);
void rpc_put_error(struct buf *out, str id, int code, str message,
                   str data);  // id STR_NONE: null; data raw, may be empty

// Copies a message without its reserved _meta keys.
void rpc_put_unreserved(struct buf *out, const struct rpc_message *m, struct arena *a);

enum { RPC_REPLY_MEMBERS = 3 };  // jsonrpc, id, and result or error

// A reply as it was received, under another id: every other byte stays as it is, but for members that JSON-RPC does not
// have, which are left out.
void rpc_put_reply_as(struct buf *out, const struct rpc_message *reply, str id);
