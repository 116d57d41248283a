// SPDX-License-Identifier: Apache-2.0
// Mode servers: list_servers, get_server_tools, execute_tool, and get_gateway_status where it is asked for. An agent
// names servers and tools as they are named where they come from, and may say in agent_id who it is.
//
// They answer with JSON, as text and in structuredContent. What goes wrong is told with isError and the rule that
// decided: {"error": {"code", "message", "rule", "details"?}}.
#pragma once
#include "surface/meta/meta_tools.h"

// One request: who asks was found out.
struct servers_ask {
  struct surface *d;
  struct request *r;
  const struct json *args;  // NULL: none
  struct caller caller;
  struct lane_user who;  // the same for connections
};

typedef void servers_tool(struct servers_ask *a);
servers_tool servers_list, servers_tools, servers_execute, servers_status;

// Ends the request: value is raw JSON, and structured (which must be an object) the same for programs.
void servers_reply(struct servers_ask *a, str value, str structured);
void servers_fail(struct servers_ask *a, const struct fault *f);  // no rule decided it

// The server that the argument names, if this agent may use it and there is one. False: it was refused.
bool servers_find(struct servers_ask *a, unsigned *out_source);

str servers_string(const struct servers_ask *a, str name);  // an argument; empty when it is missing or no string

// Has the server that the request names told what it offers, or will nobody be told of it anyway?
surface_ready servers_tools_ready;

void servers_describe(const struct session *s, struct json_writer *w);
void servers_request(struct surface *d, struct request *r);
str servers_operation(const struct surface *d, const struct request *r);  // the tool that it calls; STR_NONE: none
bool servers_is_call(str operation);                                      // the same as meta_is_call
