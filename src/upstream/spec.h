// SPDX-License-Identifier: Apache-2.0
// The configuration of one upstream: plain data, already checked.
#pragma once
#include "text/secrets.h"

// The clients that share one connection, and so one process, of an upstream.
enum upstream_isolation {
  UPSTREAM_ISOLATE_AGENT,    // one for every agent, and one for each of its clients that accepts requests
  UPSTREAM_ISOLATE_SESSION,  // one for every session and agent that it acts as
  UPSTREAM_ISOLATE_SHARED,   // one for all, which declares all capabilities
};

// The era of the protocol.
enum upstream_protocol {
  UPSTREAM_PROTOCOL_AUTO,       // detected: server/discover, then initialize
  UPSTREAM_PROTOCOL_HANDSHAKE,  // "legacy": initialize, up to 2025-11-25
  UPSTREAM_PROTOCOL_STATELESS,  // "modern": 2026-07-28
};

struct upstream_pair {
  str name, value;
};

// Token budget for results of some tools.
struct upstream_tool_budget {
  str tool;  // name or pattern, as below
  size_t tokens;
};

// Timeout for calls of some tools.
struct upstream_tool_timeout {
  str tool;  // the server's name of it, or a pattern (base/text/glob.h)
  uint64_t ms;
};

struct upstream_kind;

// The first member of a kind's own data. Counts the references of specs; the configuration sets the first one.
struct upstream_own {
  unsigned refs;
};

struct upstream_spec {
  str name;                          // the key in mcpServers
  str shown;                         // command line or URL for people: variables not expanded, secrets masked
  str description;                   // by the operator; may be empty
  bool anonymous;                    // the gateway chose its name
  const struct upstream_kind *kind;  // upstream/kind.h
  enum upstream_isolation isolation;
  enum upstream_protocol protocol;
  struct secrets_known secrets;  // secret parts of the members below
  struct secrets_known hidden;   // the secrets and its addresses, masked in errors for agents
  // stdio
  str command;
  str program;  // the command with variables not expanded
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
  struct upstream_tool_timeout *tool_timeouts;  // for these tools; the first match counts
  size_t tool_timeout_count;
  size_t result_tokens;                       // budget of a result; 0: the gateway's default
  struct upstream_tool_budget *tool_budgets;  // for these tools; the first match counts
  size_t tool_budget_count;
  // Names or patterns (base/text/glob.h). With on_tools only those tools are served; tools in off_tools never are.
  str *on_tools, *off_tools;
  size_t on_tool_count, off_tool_count;
  bool has_idle;              // idle_ms is set
  uint64_t idle_ms;           // idle time after which a connection closes; 0: never
  uint64_t max_in_flight;     // calls in flight on one connection; 0: the gateway's default
  uint64_t start_timeout_ms;  // for connecting and the handshake; 0: the gateway's default
};

// Programs that install another program and start it.
enum upstream_launcher {
  UPSTREAM_NO_LAUNCHER,
  UPSTREAM_NPX,       // npx, npm exec: installs into a cache that only one process may change at a time
  UPSTREAM_LAUNCHER,  // bunx, pnpm dlx, yarn dlx, uvx, uv run, pipx run, docker run, podman run, dotnet run, dnx, ...
};
enum upstream_launcher spec_launcher(const struct upstream_spec *s);

// Copies all texts into the arena and takes a reference to `own`, which spec_done returns.
void spec_copy(struct upstream_spec *out, const struct upstream_spec *s, struct arena *a);
void spec_done(struct upstream_spec *s);

// Returns whether enabledTools and disabledTools allow a tool of this name.
bool spec_serves(const struct upstream_spec *s, str tool);

// Returns an error text for agents: secrets and addresses are masked, and texts of the gateway lose the address, the
// proxy, the program and its folders. Returns the text itself, or a copy in the arena.
str spec_public_text(const struct upstream_spec *s, struct arena *a, str text);

// Returns whether both specs make equal connections, ignoring texts for people.
bool spec_same(const struct upstream_spec *a, const struct upstream_spec *b);
