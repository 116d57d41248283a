// SPDX-License-Identifier: Apache-2.0
// Reads and writes JSON-RPC 2.0 messages.
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
  // codes that MCP defines
  RPC_RESOURCE_NOT_FOUND = -32002,  // used up to revision 2025-11-25; later revisions use RPC_INVALID_PARAMS
  RPC_HEADER_MISMATCH = -32020,
  RPC_MISSING_CAPABILITY = -32021,
  RPC_UNSUPPORTED_VERSION = -32022,
  RPC_URL_NEEDED = -32042,  // in revision 2025-11-25: the client must open a URL and repeat the call
};

struct large_message;  // rpc/large_message.h

// A message. Slices and nodes point into the parsed text and its arena.
struct rpc_message {
  enum rpc_kind kind;
  struct large_message *large_message;  // owner of the nodes if the message is large, else NULL
  const struct json *root;
  const struct json *id;      // string or number; NULL in a notification, and in an error that has no id
  str method;                 // requests and notifications
  const struct json *params;  // an object or array; NULL if absent
  const struct json *result;  // RPC_RESULT
  const struct json *error;   // an object, of an RPC_ERROR
  bool reserved;              // some _meta keys must be removed before the message is forwarded: see rpc_put_unreserved
};

// The size of the id's text in struct rpc_error, which is an error to send to a peer.
enum { RPC_ERROR_ID = 128 };
struct rpc_error {
  int code;
  const char *message;
  char id[RPC_ERROR_ID];  // raw JSON of the id; empty if the id is unreadable or too long
};

// Writes an error reply.
void rpc_put_refusal(struct buf *out, const struct rpc_error *err);

// The error for a message that json_parse rejected, made by rpc_refuse_unread. If the message exceeded a limit,
// rpc_refuse_unread searches the text for its id, because the sender waits for a reply with this id.
struct rpc_unread {
  struct rpc_error error;
  char text[FAULT_TEXT + FAULT_PATH + 64];
};
void rpc_refuse_unread(str message, const struct fault *why, struct rpc_unread *out);

// Reads a message from a parsed value. Returns false with the reason in *err if the value is not a valid message, or if
// a member name is disguised (rpc/members.h). If the disguised name is in params, the code is RPC_INVALID_PARAMS.
bool rpc_read(const struct json *value, struct arena *a, struct rpc_message *out, struct rpc_error *err);

// Returns whether two ids have the same type and value. For example, 1 and "1" differ, but "\u0061" and "a" are the
// same.
bool rpc_same_id(const struct json *a, const struct json *b);

// The rpc_put functions append a message to `out`. `id`, `params` and `result` are raw JSON; empty params are omitted.
void rpc_put_request(struct buf *out, str id, str method, str params);
void rpc_put_notification(struct buf *out, str method, str params);
void rpc_put_result(struct buf *out, str id, str result);
// Writes an error reply. If `id` is STR_NONE, its id is null. `data` is raw JSON, or empty if the error has no data.
void rpc_put_error(struct buf *out, str id, int code, str message, str data);

// Copies a message without its reserved _meta keys.
void rpc_put_unreserved(struct buf *out, const struct rpc_message *m, struct arena *a);

enum { RPC_REPLY_MEMBERS = 3 };  // members of a reply: jsonrpc, id, and result or error

// Writes a reply with another id. Keeps all other bytes, but drops members that JSON-RPC does not define.
void rpc_put_reply_as(struct buf *out, const struct rpc_message *reply, str id);
