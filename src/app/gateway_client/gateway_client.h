// SPDX-License-Identifier: Apache-2.0
// A client of a gateway, for commands that send a few requests and end. Requests block until the answer arrives.
//
// The client uses a running gateway that serves the same configuration (app/gateway_client/control_client.h). If no
// such gateway runs, it creates one inside this process, with the configured servers.
#pragma once
#include "app/gateway.h"
#include "app/gateway_client/control_client.h"
#include "app/gateway_client/loopback.h"
#include "app/gateway_client/progress.h"

struct gateway_client {
  struct config config;
  struct arena arena;             // memory of the answers
  struct session_operator terms;  // settings of the sessions
  struct progress progress;
  enum surface_mode mode;          // mode of the next request
  struct hash_key seed;            // seed for maps
  struct control_client *running;  // the running gateway; NULL if the gateway is in this process
  bool in_process;                 // the gateway is in this process, and the members below are in use
  struct guard guard;
  struct gateway gateway;
  struct loopback *loopbacks[MODE_COUNT];
  struct timer progress_timer;
  size_t left_out;  // number of servers with an invalid configuration
};

// Reads the configuration, and connects to the running gateway or creates a gateway in this process. Starts no server
// yet. Must be called while the process has one thread and no open files. On failure prints the reason on stderr, sets
// *out_status to the exit code and leaves nothing to close.
bool gateway_client_open(struct gateway_client *client, const struct config_options *opt, int *out_status);

// Stops the servers of the gateway in this process and waits until they have ended.
void gateway_client_close(struct gateway_client *client);

// Sets the mode of the next requests. The first use of a mode starts the servers.
void gateway_client_set_mode(struct gateway_client *client, enum surface_mode mode);

// Waits until every server has listed its definitions, or failed.
void gateway_client_wait_servers(struct gateway_client *client);

// Sends an MCP request and returns its result, which lives as long as the client. On failure returns NULL, with the
// reason in `f`.
const struct json *gateway_client_request(struct gateway_client *client, str method, str params, struct fault *f);

// Calls a tool. `arguments` is the text of a JSON object; `meta` is that of the request's _meta, or STR_NONE.
const struct json *gateway_client_call_tool(struct gateway_client *client, str tool, str arguments, str meta,
                                            struct fault *f);
