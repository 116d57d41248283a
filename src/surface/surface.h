// SPDX-License-Identifier: Apache-2.0
// What clients see of the upstreams, in the mode of their session (surface/mode.h).
#pragma once
#include "call/calls.h"
#include "mcp/server/session.h"
#include "observe/reload_status.h"
#include "surface/mode.h"
#include "upstream/upstream.h"

struct surface;

struct surface_options {
  struct loop *loop;
  uint64_t start_wait_ms;    // how long a list waits for upstreams that are starting
  uint64_t list_wait_ms;     // the same for the list of meta-tools in mode gateway
  size_t page_size;          // 0: all in one page
  size_t definition_tokens;  // of a definition that tool_browse returns
  struct instructions_limits {
    size_t budget, per_server;  // tokens in the answer to initialize, of all servers and of one
    size_t browse;              // tokens of one server's with tool_browse of its path
  } instructions;
  enum surface_mode mode;              // what most clients see
  bool strict;                         // a catalog with a definition that must be left out is not taken
  bool list_ids;                       // mode transparent lists tools under their ids
  bool cache_stable;                   // what was browsed once comes first, as it was
  bool lazy;                           // servers are started when they are needed
  bool debug;                          // mode servers has get_gateway_status
  struct store *store;                 // what is to last; outlives the surface
  const struct reload_status *reload;  // how reading files again went; NULL: they are not
  struct call_options calls;
};

struct surface *surface_new(const struct surface_options *opt);
// Every session must be closed before.
void surface_free(struct surface **surface);

// The two sides it joins: what sessions call, and what upstreams tell. Both must be set before anything runs.
extern const struct surface_ops surface_for_sessions;        // ctx: struct surface
extern const struct upstreams_events surface_for_upstreams;  // ctx: struct surface
// The rulebook says something else than `before`: clients that see something else now are told, and what they may not
// hear of any more ends. `before` may be given back afterwards.
void surface_rules_changed(struct surface *d, const struct rulebook *before);
// There are other servers: what clients need of them is started, and lists wait for them as at the start.
void surface_servers_changed(struct surface *d);
// Other limits of each principal, from now on.
void surface_limit_principals(struct surface *d, const struct allowance_limits *limits);
// Requests have lines in this audit log from now on; those under way have none.
void surface_audit(struct surface *d, struct audit_recorder *l);
void surface_join(struct surface *d, struct mcp_server *server, struct upstreams *upstreams);
