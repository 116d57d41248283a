// SPDX-License-Identifier: Apache-2.0
// MCP on our own stdin and stdout: one client, one message a line. It may do a handshake, or send requests without a
// session, or both.
#pragma once
#include "base/fault.h"
#include "mcp/server/session.h"

struct stdio_front;

struct stdio_front_options {
  int in_fd, out_fd;
  int mode;  // what of the surface the client sees
  size_t max_line;
  uint64_t drain_ms;  // for what is under way when the client has closed stdin
  uint64_t idle_ms;   // how long the connections are kept that were opened for requests without a session
  // Called once: when the client has closed stdin and every request that was read has been answered (or drain_ms have
  // passed), or when nobody reads our answers any more.
  void (*ended)(void *ctx);
  void *ctx;
};

struct stdio_front *stdio_front_new(struct mcp_server *m, const struct stdio_front_options *opt, struct fault *f);

// Reads no more, and ends as if the client had closed stdin.
void stdio_front_drain(struct stdio_front *front);

// Closes the session; what is queued still goes out, for a moment.
void stdio_front_free(struct stdio_front **front);
