// SPDX-License-Identifier: Apache-2.0
// Answers the requests of clients, in the mode of their session (surface/mode.h).
#pragma once
#include "call/calls.h"
#include "mcp/server/session.h"
#include "observe/reload_status.h"
#include "surface/mode.h"
#include "upstream/upstream.h"

struct surface;

struct surface_options {
  struct loop *loop;
  uint64_t start_wait_ms;    // longest time that a list request waits for upstreams that are starting
  uint64_t list_wait_ms;     // longest time that tools/list waits for upstreams in gateway mode
  size_t page_size;          // maximum number of items on one page of a list; 0 if lists have only one page
  size_t definition_tokens;  // maximum tokens of a definition that tool_browse returns
  struct instructions_limits {
    // Maximum tokens of instructions in the answer to initialize: for all servers, and for each server.
    size_t budget, per_server;
    size_t browse;  // maximum tokens of one server's instructions in the answer to tool_browse for its path
  } instructions;
  enum surface_mode mode;              // default mode of a session
  bool strict;                         // rejects a catalog with an invalid definition (on_invalid: raise)
  bool list_ids;                       // transparent mode lists tools under their ids
  bool cache_stable;                   // browse answers put cards that a session has seen first, unchanged
  bool lazy;                           // starts servers on first use
  bool debug;                          // servers mode has get_gateway_status
  struct store *store;                 // durable state; outlives the surface
  const struct reload_status *reload;  // results of reloading the configuration; NULL if files are not watched
  struct call_options calls;
};

struct surface *surface_new(const struct surface_options *opt);
// All sessions must be closed before this function is called.
void surface_free(struct surface **surface);

// Connects the surface to the sessions and the upstreams. Must be called once, before the loop runs.
void surface_join(struct surface *d, struct mcp_server *server, struct upstreams *upstreams);
extern const struct surface_ops surface_for_sessions;        // ctx: struct surface
extern const struct upstreams_events surface_for_upstreams;  // ctx: struct surface

// Replaces the limits that apply to each principal.
void surface_limit_principals(struct surface *d, const struct allowance_limits *limits);
// Sets the audit log for later requests; NULL if these requests need no audit lines. Requests in flight are not
// affected.
void surface_audit(struct surface *d, struct audit_recorder *l);

// Returns the name of the meta-tool, or tool of servers mode, that a request calls; STR_NONE if the request calls
// neither.
str surface_operation(const struct surface *d, const struct request *r);
