// SPDX-License-Identifier: Apache-2.0
// MCP on our own stdin and stdout: one client, one session, one message a line.
#pragma once
#include "base/fault.h"
#include "mcp/session.h"

struct stdio_front;

// `ended` is called once: when the client has closed stdin and every request that was read has been
// answered (or drain_ms have passed), or when nobody reads our answers any more.
struct stdio_front *stdio_front_new(struct mcp_server *m, int in_fd, int out_fd, size_t max_line, uint64_t drain_ms,
                                    uint64_t idle_ms, void (*ended)(void *ctx), void *ctx, struct fault *f);

// Reads no more, and ends as if the client had closed stdin.
void stdio_front_drain(struct stdio_front *front);

// Closes the session; what is queued still goes out, for a moment.
void stdio_front_free(struct stdio_front **front);
