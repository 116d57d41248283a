// SPDX-License-Identifier: Apache-2.0
// For commands that ask something and end: a client of a gateway, whose requests are waited for. It may look at the
// gateway in several modes.
//
// The gateway is one that runs already and serves the same configuration (app/visit/remote.h), or else one in this
// process with the configured servers.
#pragma once
#include "app/gateway.h"
#include "app/visit/loopback.h"
#include "app/visit/progress.h"
#include "app/visit/remote.h"

struct visit {
  struct config config;
  struct arena arena;             // of what was answered
  struct session_operator terms;  // of the clients
  struct progress progress;
  enum surface_mode mode;  // of the client that asks
  struct hash_key seed;    // for maps
  struct remote *remote;   // the running gateway; NULL: our own
  bool own;                // there is a gateway of our own: the rest is its
  struct guard guard;
  struct gateway gateway;
  struct loopback *clients[MODE_COUNT];
  struct timer patience;
  size_t left_out;  // servers whose configuration is wrong
};

// Reads the configuration and finds the gateway, or puts it together; no server is started yet. To be called while
// there is one thread and nothing is open. False: what is wrong was said on stderr, *out_status is the exit code, and
// there is nothing to be closed.
bool visit_open(struct visit *v, const struct config_options *opt, int *out_status);

// Stops the servers of a gateway of our own and waits for them.
void visit_close(struct visit *v);

// From now on it asks as a client that sees this mode. The first time starts the servers.
void visit_enter(struct visit *v, enum surface_mode mode);

// Waits until every server has said what it has, or failed.
void visit_settle(struct visit *v);

// Makes a request and waits for the answer. The result lives as long as the visit. NULL: f says why.
const struct json *visit_request(struct visit *v, str method, str params, struct fault *f);

// The same for a call of a tool; arguments is a raw JSON object.
const struct json *visit_call(struct visit *v, str tool, str arguments, struct fault *f);
