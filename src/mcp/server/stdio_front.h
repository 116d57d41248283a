// SPDX-License-Identifier: Apache-2.0
// MCP on stdin and stdout: one client, one message per line. The client may do a handshake, send stateless requests, or
// both.
#pragma once
#include "base/fault.h"
#include "mcp/server/session.h"

struct stdio_front;

struct stdio_front_options {
  int in_fd, out_fd;
  int mode;  // the mode in which the client sees the catalog
  size_t max_line;
  uint64_t drain_ms;  // time to finish requests in flight after the client has closed stdin
  uint64_t idle_ms;   // how long lanes of stateless requests may be idle
  // Called once when the client has closed stdout, or has closed stdin and every request is answered (or drain_ms have
  // passed).
  void (*ended)(void *ctx);
  void *ctx;
};

struct stdio_front *stdio_front_new(struct mcp_server *m, const struct stdio_front_options *opt, struct fault *f);

// Stops reading and behaves as if the client had closed stdin.
void stdio_front_drain(struct stdio_front *front);

// Closes the session. Queued messages may still be written for a moment.
void stdio_front_free(struct stdio_front **front);
