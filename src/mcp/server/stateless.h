// SPDX-License-Identifier: Apache-2.0
// HTTP requests of the stateless revision: each stands for itself. What its headers repeat is compared with its body,
// its answer is JSON or a stream that ends with it, and closing that stream cancels it.
#pragma once
#include "io/http/http_server.h"
#include "mcp/server/callers.h"

struct stateless {
  struct callers callers;
  uint64_t keepalive_ms;
  struct buf *events;  // scratch for event streams; shared
  bool draining;
};

void stateless_init(struct stateless *t, struct mcp_server *m, uint64_t keepalive_ms, uint64_t idle_ms,
                    struct buf *events);
void stateless_done(struct stateless *t);
void stateless_drain(struct stateless *t);  // we are stopping: listeners are answered, and no more are taken

// Does a request's header name a stateless revision?
bool stateless_stated(const struct http_exchange *x);

// Is a POST with this body one of these, by its body or by its header?
bool stateless_takes(const struct http_exchange *x, const struct request *r);

// Takes x and r.
void stateless_post(struct stateless *t, struct http_exchange *x, struct request *r, struct client_identity who);
