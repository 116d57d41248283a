// SPDX-License-Identifier: Apache-2.0
// What the configuration says about one upstream: plain data, valid once it was read.
#pragma once
#include "text/secrets.h"

// Who shares one connection (and so one process) of an upstream.
enum upstream_isolation {
  UPSTREAM_ISOLATE_AGENT,    // every agent has its own; its clients that can be asked something have one each
  UPSTREAM_ISOLATE_SESSION,  // every client session has its own, one for each agent that it acts as
  UPSTREAM_ISOLATE_SHARED,   // all share one, which says that it can be asked everything
};

// Which era of the protocol it speaks.
enum upstream_protocol {
  UPSTREAM_PROTOCOL_AUTO,       // asked: server/discover, then initialize
  UPSTREAM_PROTOCOL_HANDSHAKE,  // "legacy": initialize, up to 2025-11-25
  UPSTREAM_PROTOCOL_STATELESS,  // "modern": 2026-07-28
};

struct upstream_pair {
  str name, value;
};

// How many tokens results of some tools may have.
struct upstream_tool_budget {
  str tool;  // as below
  size_t tokens;
};

// How long calls of some tools may take.
struct upstream_tool_timeout {
  str tool;  // as the server calls it, or a pattern (base/text/glob.h)
  uint64_t ms;
};

struct upstream_kind;

// The first member of the data that a kind makes of an entry. Specs count their references in it.
struct upstream_own {
  unsigned refs;
};

struct upstream_spec {
  str name;         // the key in mcpServers
  str shown;        // command line or URL for people: variables not expanded, what looks like a secret masked
  str description;  // what it is for, in the operator's words; may be empty
  bool anonymous;   // nobody gave it that name
  const struct upstream_kind *kind;  // upstream/kind.h
  enum upstream_isolation isolation;
  enum upstream_protocol protocol;
  struct secrets_known secrets;  // what it is configured with and nobody else is to read: parts of what stands below
  struct secrets_known hidden;   // the secrets and its addresses: nothing that agents read as an error contains them
  // stdio
  str command;
  str program;  // the same as it was written: variables not expanded
  str *args;
  size_t arg_count;
  struct upstream_pair *env;  // added to the minimal environment
  size_t env_count;
  str cwd;          // empty: the gateway's
  bool unconfined;  // see child_spec
  // http, sse
  str url;
  struct upstream_pair *headers;
  size_t header_count;
  // other kinds
  struct upstream_own *own;  // data of the kind (struct snapshot, ...); one reference belongs to this spec
  // all
  uint64_t timeout_ms;                          // for one request, renewed by progress; 0: the gateway's default
  struct upstream_tool_timeout *tool_timeouts;  // instead, for these tools; the first that matches counts
  size_t tool_timeout_count;
  size_t result_tokens;                       // budget of a result; 0: the gateway's default
  struct upstream_tool_budget *tool_budgets;  // instead, for these tools; the first that matches counts
  size_t tool_budget_count;
  // Names or patterns (base/text/glob.h). With on_tools only those tools are served; tools in off_tools never are.
  str *on_tools, *off_tools;
  size_t on_tool_count, off_tool_count;
  bool has_idle;              // it says itself ...
  uint64_t idle_ms;           // ... after how long without use a connection is closed; 0: never
  uint64_t max_in_flight;     // calls under way on one connection; 0: the gateway's default
  uint64_t start_timeout_ms;  // for connecting and the handshake; 0: the gateway's default
};

// A program that installs another one before it starts it.
enum upstream_launcher {
  UPSTREAM_NO_LAUNCHER,
  UPSTREAM_NPX,       // npx, npm exec: installs into a cache that only one of them may change at a time
  UPSTREAM_LAUNCHER,  // bunx, pnpm dlx, yarn dlx, uvx, uv run, pipx run, docker run, podman run, dotnet run, dnx, ...
};
enum upstream_launcher spec_launcher(const struct upstream_spec *s);

// Everything it points to is copied into the arena, except `own`, which is counted. spec_done gives that back.
void spec_copy(struct upstream_spec *out, const struct upstream_spec *s, struct arena *a);
void spec_done(struct upstream_spec *s);

// Is a tool of this name served, or hidden by enabledTools or disabledTools?
bool spec_serves(const struct upstream_spec *s, str tool);

// An error text about this server or from it, as agents read it: secrets and addresses are masked, and texts of the
// gateway lose the address, the proxy, the program and its folders. The text itself, or a copy in the arena.
str spec_public_text(const struct upstream_spec *s, struct arena *a, str text);

// Would a connection made by one be as one made by the other? What is shown to people does not count.
bool spec_same(const struct upstream_spec *a, const struct upstream_spec *b);
