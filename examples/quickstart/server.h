// SPDX-License-Identifier: Apache-2.0
// The part that the example servers share: MCP over stdio, one JSON message a line.
//
// A server is two tables, its tools and its further methods. server_run reads requests from stdin, answers what every
// server answers alike (initialize, ping, tools/list, tools/call, unknown methods) and asks the tables for the rest.
// Requests are answered one after the other; notifications from the client need no answer and get none.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "json/write.h"

enum {
  RPC_PARSE_ERROR = -32700,
  RPC_INVALID_REQUEST = -32600,
  RPC_METHOD_NOT_FOUND = -32601,
  RPC_INVALID_PARAMS = -32602,
  RPC_INTERNAL_ERROR = -32603,
  RPC_RESOURCE_NOT_FOUND = -32002,
};

// One request while it is answered. A handler writes one JSON value to `result`, or calls request_fail.
struct request {
  struct arena *arena;        // for what is needed until the answer is sent
  const struct json *params;  // NULL when there are none
  struct json_writer result;
  struct buf *notifications;  // sent behind the answer
  void *state;                // the server's own
  int error;                  // 0, or a code with its message
  str message;
};

struct tool {
  const char *name, *description;
  const char *input_schema;   // JSON text
  const char *output_schema;  // JSON text, or NULL
  bool read_only;
  // Writes the whole result, with tool_text, tool_data or tool_fail.
  void (*run)(struct request *r, const struct json *arguments);
};

struct method {
  const char *name;
  void (*run)(struct request *r);
};

struct server {
  const char *name, *instructions;
  const char *capabilities;  // JSON text
  const struct tool *tools;
  size_t tool_count;
  const struct method *methods;
  size_t method_count;
  void *state;  // given to every handler
};

// Until stdin ends. Gives the exit status of the program.
int server_run(const struct server *s);

// Answers with an error instead of a result.
void request_fail(struct request *r, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

// False, after request_fail, when the parameters lack this string.
bool request_string(struct request *r, const char *name, str *out);

// Our lists have one page: false, after request_fail, when the client asks for another.
bool request_first_page(struct request *r);

// Queues a notification; params is JSON text, or empty.
void request_notify(struct request *r, const char *method, str params);

// A member of an object whose value is a string.
void put_text(struct json_writer *w, const char *key, str value);

// A result with one piece of text.
void tool_text(struct request *r, str text);
// The same with a JSON object, as text for a model and as structured content for a program.
void tool_data(struct request *r, str json);
// The same, marked as a failure that the model can read and react to.
void tool_fail(struct request *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// One argument of a tool. False, after tool_fail, when it is missing or of another type.
bool tool_string(struct request *r, const struct json *arguments, const char *name, str *out);
bool tool_int(struct request *r, const struct json *arguments, const char *name, int64_t *out);
