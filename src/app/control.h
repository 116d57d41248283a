// SPDX-License-Identifier: Apache-2.0
// The control socket of a running gateway: `toolgate status`, `browse`, `call` and others ask here instead of starting
// every server again. Only processes of the same user, or of root, are answered, and none that the gateway's servers
// started.
//
// JSON-RPC, one message a line, requests from the command only:
//
//   toolgate/hello {"version", "agent"?, "wait_ms"?, "result_tokens"?}   the first; {"version", "pid", "stale"?}
//   toolgate/ask {"mode", "method", "params"?}    an MCP request of a client that sees this mode; its result
//   toolgate/status                               state of the gateway, its clients and its servers
//   toolgate/definitions                          definitions of the servers, to build a catalog from
//   toolgate/logs {"server", "after"?, "lines"?}  lines that the server wrote to stderr
//
// A request that is wrong is answered with an error; input that is no request ends the connection, as does a command
// that does not read its answers.
#pragma once
#include "app/admin/model.h"

struct control;

struct control_options {
  const struct model *model;
  char *const *env;
};

// Opens the socket. NULL: there is no place for one; the log says why. The rest works without.
struct control *control_open(const struct control_options *opt);
void control_close(struct control **c);

// The gateway has taken over another configuration: the socket is named after it.
void control_rename(struct control *c, const char *id);
