// SPDX-License-Identifier: Apache-2.0
// The control socket of a running gateway. `toolgate status`, `browse`, `call` and other commands send their requests
// here, so that they need not start every server again. The gateway accepts connections only from processes of the same
// user or of root, and refuses its servers and the processes that its servers started.
//
// The protocol is JSON-RPC, one message per line; only the command sends requests:
//
//   toolgate/hello {"version", "agent"?, "wait_ms"?, "result_tokens"?}   first; returns {"version", "pid", "stale"?}
//   toolgate/ask {"mode", "method", "params"?}    sends an MCP request as a client in this mode; returns its result
//   toolgate/status                               state of the gateway, its clients and its servers
//   toolgate/definitions                          definitions of the servers, to build a catalog from
//   toolgate/governance                           counters of governed calls (observe/govern_metrics.h)
//   toolgate/pins {"action", …}                   pins of tools (app/pins_answer.h)
//   toolgate/approvals {"action", …}              requests for approval (app/approvals_answer.h)
//   toolgate/logs {"server", "after"?, "lines"?}  lines that the server wrote to stderr
//
// An invalid request gets an error. The gateway closes the connection if the input is not a request, or if the command
// does not read its answers.
#pragma once
#include "app/admin/model.h"

struct control;

struct control_options {
  const struct model *model;
  char *const *env;
};

// Opens the socket. On failure logs the reason and returns NULL; the gateway works without a control socket.
struct control *control_open(const struct control_options *opt);
void control_close(struct control **c);

// Renames the socket after a reload: its name contains the id of the configuration.
void control_rename(struct control *c, const char *id);
