// SPDX-License-Identifier: Apache-2.0
// Calls that are written beside a conversation become messages of it: the request, and what came back.
//
//   {"messages": [...], "tool_calls": [{"resource_call": RPC}, {"tool_call": RPC}]}  ->  {"messages": [...]}
//
// RPC is a JSON-RPC request, resources/read or tools/call, with an id. `depends` (in the arguments of a tool, in the
// params of a resource) names the calls that come before it: an id, or a list of them. It is not sent. `<ID response>`
// in a string of the arguments (or in the URI) is replaced by what such a call gave, as text, once.
//
// First everything is checked, then the calls are made one after the other: each behind those it depends on, else in
// the order in which they are written. Those that depend on a call that failed are not made.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum { MESSAGES_CALLS = 1000, MESSAGES_PARAMS_BYTES = 64 << 20 };

enum messages_shape {
  MESSAGES_SEED,    // the assistant says what it asks for; a resource is answered by system, a tool by tool
  MESSAGES_OPENAI,  // the assistant has tool_calls, which messages of the role tool answer by their id
};

struct planned_call {
  str id;
  bool is_resource;
  str target;                    // the URI, or the name of the tool
  const struct json *arguments;  // of a tool: an object, or NULL
  const struct json *meta;       // params._meta, or NULL
  size_t *depends;               // places of others in the plan
  size_t depend_count;
  bool failed;
  str response;  // as text; STR_NONE: not made yet
};

struct messages_plan {
  const struct json *input;
  struct planned_call *calls;  // in the order in which they are made
  size_t count;
};

// Everything lives in the arena or in the input. False: FAULT_INVALID (or FAULT_LIMIT) with the place as path: an id
// that is not there, or there twice, or a circle, or what is no such call at all.
bool messages_plan(const struct json *input, struct arena *a, struct messages_plan *out, struct fault *f);

// Makes a call and says what came of it, by one of the two functions below. `params`: raw, as they are to be sent.
typedef void messages_answer(void *ctx, struct planned_call *call, str params, struct arena *a);

// Until every call has a response. Gives how many failed.
size_t messages_run(struct messages_plan *plan, messages_answer *answer, void *ctx, struct arena *a);

void messages_take_result(struct planned_call *call, const struct json *result, struct arena *a);
void messages_take_fault(struct planned_call *call, const struct fault *f, struct arena *a);

// Instead of a run: every response is `<ID response>`, as it would be written to refer to it.
void messages_pretend(struct messages_plan *plan, struct arena *a);

// The input with the messages of the calls, and without them. What is written before stays byte for byte.
void messages_write(const struct messages_plan *plan, enum messages_shape shape, struct arena *a, struct buf *out);

// What a model reads of a result: texts one below the other, JSON without blanks, bytes named only.
str messages_result_text(const struct json *result, struct arena *a);
