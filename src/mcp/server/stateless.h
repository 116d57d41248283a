// SPDX-License-Identifier: Apache-2.0
// HTTP requests of the stateless revision. Headers that repeat values of the body must agree with the body. The
// response is JSON, or a stream that ends with the answer; closing the stream cancels the request.
#pragma once
#include "io/http/http_server.h"
#include "mcp/server/callers.h"

struct stateless {
  struct callers callers;
  uint64_t keepalive_ms;
  struct buf *events;  // scratch buffer that all event streams share
  bool draining;
};

void stateless_init(struct stateless *t, struct mcp_server *m, uint64_t keepalive_ms, uint64_t idle_ms,
                    struct buf *events);
void stateless_done(struct stateless *t);
void stateless_drain(struct stateless *t);  // answers all subscriptions/listen requests, and refuses new ones

// Returns whether the header MCP-Protocol-Version of a request names a stateless revision.
bool stateless_stated(const struct http_exchange *x);

// Returns whether a POST is a stateless request: its _meta contains a revision, or its header names a stateless
// revision.
bool stateless_takes(const struct http_exchange *x, const struct request *r);

// Handles the request and takes ownership of x and r.
void stateless_post(struct stateless *t, struct http_exchange *x, struct request *r, struct client_identity who);
