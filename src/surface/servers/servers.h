// SPDX-License-Identifier: Apache-2.0
// Servers mode: list_servers, get_server_tools, execute_tool, and get_gateway_status if debug is set. An agent uses the
// names that the servers gave to their tools, and may identify itself with agent_id.
//
// The tools answer with JSON, as text and in structuredContent. Faults are results with isError, which contain the rule
// that decided about the call: {"error": {"code", "message", "rule", "details"?}}.
#pragma once
#include "call/caller.h"
#include "surface/meta/meta_tools.h"
#include "surface/wait.h"
#include "upstream/upstream.h"

// A request whose caller is known.
struct servers_ask {
  struct surface *d;
  struct request *r;
  const struct json *args;  // arguments of the tool; NULL if absent
  struct caller caller;
  struct lane_user who;  // the caller in the form that upstreams use to choose a connection
};

typedef void servers_tool(struct servers_ask *a);
servers_tool servers_list, servers_tools, servers_execute, servers_status;

// Finds the server that the argument `server` names. If the agent may not use the server, or if there is no such
// server, refuses the request and returns false.
bool servers_find(struct servers_ask *a, unsigned *out_source);

// Returns a string argument; empty if the argument is absent or not a string.
str servers_string(const struct servers_ask *a, str name);
str servers_named(const struct request *r);  // returns the agent that the request names, or STR_NONE

// Returns whether get_server_tools can be answered now: the server has listed its tools, or the request will be
// refused.
surface_ready servers_tools_ready;

void servers_describe(const struct session *s, struct json_writer *w);
void servers_request(struct surface *d, struct request *r);
// Returns the name of the tool that the request calls, or STR_NONE.
str servers_operation(const struct surface *d, const struct request *r);
bool servers_is_call(str operation);  // returns whether the tool of this name calls a server
