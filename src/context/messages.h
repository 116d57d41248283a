// SPDX-License-Identifier: Apache-2.0
// Makes the calls listed next to a conversation, and adds each to the conversation as messages: the request and the
// response.
//
//   {"messages": [...], "tool_calls": [{"resource_call": RPC}, {"tool_call": RPC}]}  ->  {"messages": [...]}
//
// RPC is a JSON-RPC request, resources/read or tools/call, with an id. `depends` (in the arguments of a tool, in the
// params of a resource) names earlier calls by an id or a list of ids. `depends` is not sent. `<ID response>` in a
// string of the arguments (or in the URI) is replaced by the text of that response; placeholders in the inserted text
// are not replaced.
//
// All calls are checked first and then made in sequence: each after its dependencies, otherwise in the given order.
// Calls that depend on a failed call are not made.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum { MESSAGES_CALLS = 1000, MESSAGES_PARAMS_BYTES = 64 << 20 };

enum messages_shape {
  MESSAGES_SEED,    // the assistant describes the call in words; the response has role system (resource) or tool
  MESSAGES_OPENAI,  // the assistant has tool_calls; responses have role tool and the id of their call
};

struct planned_call {
  str id;
  bool is_resource;
  str target;                    // the URI, or the name of the tool
  const struct json *arguments;  // arguments of a tool: an object, or NULL
  const struct json *meta;       // params._meta, or NULL
  size_t *depends;               // indexes of earlier calls in the plan
  size_t depend_count;
  bool failed;
  str response;  // text of the response; STR_NONE before the call
};

struct messages_plan {
  const struct json *input;
  struct planned_call *calls;  // in the order in which they are made
  size_t count;
};

// Reads and orders the calls. The strings of the plan are in the arena or in the input. Fails with FAULT_INVALID or
// FAULT_LIMIT, and sets the path, for an unknown or duplicate id, a cycle, or an invalid call.
bool messages_plan(const struct json *input, struct arena *a, struct messages_plan *out, struct fault *f);

// Makes one call. Must store the response with messages_take_result or messages_take_fault. `params` is raw JSON.
typedef void messages_answer(void *ctx, struct planned_call *call, str params, struct arena *a);

// Makes all calls. Returns the number of failed calls.
size_t messages_run(struct messages_plan *plan, messages_answer *answer, void *ctx, struct arena *a);

void messages_take_result(struct planned_call *call, const struct json *result, struct arena *a);
void messages_take_fault(struct planned_call *call, const struct fault *f, struct arena *a);

// Sets every response to the text `<ID response>`, without making the calls.
void messages_pretend(struct messages_plan *plan, struct arena *a);

// Writes the input with tool_calls replaced by messages. Other members are copied byte for byte.
void messages_write(const struct messages_plan *plan, enum messages_shape shape, struct arena *a, struct buf *out);

// Returns a result as text for a model: texts on separate lines, JSON without blanks, binary data only as type and
// size.
str messages_result_text(const struct json *result, struct arena *a);
