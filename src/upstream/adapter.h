// SPDX-License-Identifier: Apache-2.0
// The base of upstream kinds that answer in this process. The adapter is the transport of a link: it implements the
// handshake, the paging of lists and JSON-RPC; the kind gets typed calls. A call starts in a later turn of the loop
// than the one that sends it, as with any other server.
#pragma once
#include "base/list.h"
#include "catalog/definitions.h"
#include "mcp/client/link.h"
#include "json/write.h"

// A call of a tool, a prompt or a resource. The kind answers it exactly once, which frees it.
struct adapter_call {
  enum item_kind kind;           // ITEM_TOOL, ITEM_PROMPT or ITEM_RESOURCE
  str name;                      // the URI of a resource
  const struct json *arguments;  // may be NULL
  struct arena arena;            // freed with the call
  // Private to the adapter:
  struct adapter *adapter;
  struct list node;
  struct link_call *call;
  str id;
  bool begun;  // `call` was called
  size_t n;
  char text[];
};

// own: of the kind, as passed to adapter_link. Definitions are raw JSON objects.
struct adapter_ops {
  size_t (*count)(void *own, enum item_kind kind);
  str (*definition)(void *own, enum item_kind kind, size_t index);
  void (*call)(void *own, struct adapter_call *c);  // answers now or later
  // Cancels `c`, which the adapter frees when this returns; do not answer it. NULL: `call` always answers at once.
  void (*cancel)(void *own, struct adapter_call *c);
  str (*instructions)(void *own);  // may be NULL
  const char *too_large;           // the message of the error for an answer over limits.message
};

// own must outlive the link.
struct link *adapter_link(const struct link_options *opt, const struct adapter_ops *ops, void *own,
                          const struct link_events *ev, void *ctx);

// Answers. A result is the raw JSON object that tools/call, prompts/get or resources/read returns.
void adapter_result(struct adapter_call *c, str result);
void adapter_text(struct adapter_call *c, str text, bool failed);  // a result with this text; failed: isError of a tool
void adapter_error(struct adapter_call *c, int code, const char *message, str data);  // data: raw JSON or STR_NONE
void adapter_not_found(struct adapter_call *c);
// A result that the kind writes at once: the writer is inside its object.
struct json_writer adapter_begin(struct adapter_call *c);
void adapter_end(struct adapter_call *c, struct json_writer *w);
