// SPDX-License-Identifier: Apache-2.0
// For commands that ask something and end: the configured gateway with its servers, and one client in it, whose
// requests are waited for. It may look at the gateway in several modes.
#pragma once
#include "app/gateway.h"
#include "app/loopback.h"

struct visit {
  struct config config;
  struct guard guard;
  struct gateway gateway;
  struct session_operator terms;  // of the clients
  struct loopback *clients[MODE_COUNT];
  struct loopback *client;  // the one that asks
  struct arena arena;       // of what was answered
  struct timer patience;
};

// Reads the configuration and puts the gateway together; no server is started yet. To be called while there is one
// thread and nothing is open. False: what is wrong was said on stderr, *out_status is the exit code, and there is
// nothing to be closed.
bool visit_open(struct visit *v, const struct config_options *opt, int *out_status);

// Stops the servers and waits for them.
void visit_close(struct visit *v);

// From now on it asks as a client that sees this mode. The first time starts the servers.
void visit_enter(struct visit *v, enum surface_mode mode);

// Waits until every server has said what it has, or failed.
void visit_settle(struct visit *v);

// Makes a request and waits for the answer. The result lives as long as the visit. NULL: f says why.
const struct json *visit_request(struct visit *v, str method, str params, struct fault *f);

// The same for a call of a tool; arguments is a raw JSON object.
const struct json *visit_call(struct visit *v, str tool, str arguments, struct fault *f);
