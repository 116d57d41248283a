// SPDX-License-Identifier: Apache-2.0
// The common code of the upstream kinds that answer in this process. An adapter takes the place of a transport: it
// answers the handshake and the list requests itself, and passes other requests to the kind as struct adapter_call. As
// with any other server, a request is never answered before the function that sends it has returned: the kind gets the
// call in a later turn of the loop.
#pragma once
#include "base/list.h"
#include "catalog/definitions.h"
#include "mcp/client/link.h"
#include "json/write.h"

// A call of a tool, a prompt or a resource. The kind must answer it exactly once. Answering frees the call.
struct adapter_call {
  enum item_kind kind;           // ITEM_TOOL, ITEM_PROMPT or ITEM_RESOURCE
  str name;                      // name of the tool or prompt, or URI of the resource
  const struct json *arguments;  // may be NULL
  struct arena arena;            // freed with the call
  // Private to the adapter:
  struct adapter *adapter;
  struct list node;
  struct link_call *call;
  str id;
  bool begun;  // whether ops->call was called
  size_t n;
  char text[];
};

// The operations of a kind. `own` is the pointer that was passed to adapter_link. A definition is the text of a JSON
// object.
struct adapter_ops {
  size_t (*count)(void *own, enum item_kind kind);
  str (*definition)(void *own, enum item_kind kind, size_t index);
  void (*call)(void *own, struct adapter_call *c);  // answers now or later
  // Cancels `c`. The kind must not answer `c` any more; the adapter frees it afterwards. NULL if the function `call`
  // always answers before it returns.
  void (*cancel)(void *own, struct adapter_call *c);
  str (*instructions)(void *own);  // may be NULL
  const char *too_large;           // error message when an answer is larger than limits.message
};

// Opens a link (an MCP connection) whose requests are answered by `ops`. `own` must outlive the link.
struct link *adapter_link(const struct link_options *opt, const struct adapter_ops *ops, void *own,
                          const struct link_events *ev, void *ctx);

// Answer a call, which frees it. `result` is the JSON text of the result of tools/call, prompts/get or resources/read.
void adapter_result(struct adapter_call *c, str result);
// `failed` sets isError in the result of a tool.
void adapter_text(struct adapter_call *c, str text, bool failed);
void adapter_error(struct adapter_call *c, int code, const char *message, str data);  // `data` is raw JSON or STR_NONE
void adapter_not_found(struct adapter_call *c);
// Answer a call piece by piece. adapter_begin returns a writer for the members of the result; adapter_end sends the
// result and frees the call.
struct json_writer adapter_begin(struct adapter_call *c);
void adapter_end(struct adapter_call *c, struct json_writer *w);
