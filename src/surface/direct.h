// SPDX-License-Identifier: Apache-2.0
// The direct surface: every tool, resource and prompt of every upstream with its full definition, and the whole
// protocol passed through in both directions.
#pragma once
#include "call/call.h"
#include "mcp/session.h"
#include "upstream/upstream.h"

struct direct;

struct direct_options {
  struct loop *loop;
  uint64_t start_wait_ms;  // how long a list waits for upstreams that are starting
  size_t page_size;        // 0: all in one page
  struct call_options calls;
};

struct direct *direct_new(const struct direct_options *opt);
// Every session must be closed before.
void direct_free(struct direct **d);

// The two sides it joins: what sessions call, and what upstreams tell. Both must be set before anything runs.
extern const struct surface_ops direct_surface;         // ctx: struct direct
extern const struct upstreams_events direct_upstreams;  // ctx: struct direct
void direct_join(struct direct *d, struct mcp_server *server, struct upstreams *upstreams);
