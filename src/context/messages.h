// SPDX-License-Identifier: Apache-2.0
// Makes the calls that a JSON input lists next to the messages of a conversation. Adds two messages to the conversation
// for each call: the request and the response.
//
//   {"messages": [...], "tool_calls": [{"resource_call": RPC}, {"tool_call": RPC}]}  ->  {"messages": [...]}
//
// RPC is a JSON-RPC request, resources/read or tools/call, with an id. The member `depends` (in the arguments of a
// tool, or in the params of a resource) names other calls by an id or a list of ids; `depends` is not sent to the
// server. In strings of the arguments, or in the URI, a placeholder of the form `<ID response>` stands for the response
// of the call with this id: the text of the response replaces the placeholder. Placeholders in this text are not
// replaced.
//
// All calls are checked first. Then they are made one after the other: in the given order, except that a call is made
// after the calls that it depends on. Calls that depend on a failed call are not made.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum { MESSAGES_CALLS = 1000, MESSAGES_PARAMS_BYTES = 64 << 20 };

enum messages_shape {
  // A request has role assistant and describes the call in words; the response of a resource has role system, and that
  // of a tool has role tool.
  MESSAGES_SEED,
  MESSAGES_OPENAI,  // a request has role assistant and tool_calls; a response has role tool and the id of its call
};

struct planned_call {
  str id;
  bool is_resource;
  str target;                    // the URI, or the name of the tool
  const struct json *arguments;  // arguments of the tool: an object, or NULL if the call has no arguments
  const struct json *meta;       // params._meta, or NULL
  size_t *depends;               // indexes of earlier calls in the plan
  size_t depend_count;
  bool failed;
  str response;  // text of the response; STR_NONE before the call
};

struct messages_plan {
  const struct json *input;
  struct planned_call *calls;  // calls in the order in which they are made
  size_t count;
};

// Reads the calls from an input, and puts them in order. The strings of the plan are in the arena or in the input.
// Fails with FAULT_INVALID or FAULT_LIMIT, and sets the path of the fault, if a call is invalid, has a duplicate id,
// depends on an unknown id, or is in a cycle of dependencies.
bool messages_plan(const struct json *input, struct arena *a, struct messages_plan *out, struct fault *f);

// The type of a function that makes one call. The function must store the response with messages_take_result or
// messages_take_fault. `params` is raw JSON.
typedef void messages_answer(void *ctx, struct planned_call *call, str params, struct arena *a);

// Makes all calls of a plan with the function `answer`. Returns the number of failed calls.
size_t messages_run(struct messages_plan *plan, messages_answer *answer, void *ctx, struct arena *a);

void messages_take_result(struct planned_call *call, const struct json *result, struct arena *a);
void messages_take_fault(struct planned_call *call, const struct fault *f, struct arena *a);

// Sets every response to the text `<ID response>`, without making the calls.
void messages_pretend(struct messages_plan *plan, struct arena *a);

// Writes a copy of the plan's input, a JSON object. The copy has no member tool_calls, and its `messages` also contain
// the messages of all calls. Other members are copied byte for byte.
void messages_write(const struct messages_plan *plan, enum messages_shape shape, struct arena *a, struct buf *out);

// Returns a result as text for a model: texts on separate lines, JSON without blanks, binary data only as type and
// size.
str messages_result_text(const struct json *result, struct arena *a);
