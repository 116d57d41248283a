// SPDX-License-Identifier: Apache-2.0
// The configuration of one upstream, which the configuration code has already checked.
#pragma once
#include "text/secrets.h"

// The value of `isolation`: which clients share a connection to an upstream. Each connection over stdio has its own
// process.
enum upstream_isolation {
  UPSTREAM_ISOLATE_AGENT,    // one for each agent; clients that accept requests of servers get their own
  UPSTREAM_ISOLATE_SESSION,  // a connection for each session, and for each agent that the session acts as
  UPSTREAM_ISOLATE_SHARED,   // one connection for all clients, which declares all capabilities
};

// The protocol revisions that a server supports: with a handshake, or stateless.
enum upstream_protocol {
  UPSTREAM_PROTOCOL_AUTO,       // detected: tries server/discover, then initialize
  UPSTREAM_PROTOCOL_HANDSHAKE,  // "legacy" in the configuration: initialize, up to 2025-11-25
  UPSTREAM_PROTOCOL_STATELESS,  // "modern" in the configuration: 2026-07-28
};

struct upstream_pair {
  str name, value;
};

// A token budget for results of the tools that match `tool`.
struct upstream_tool_budget {
  str tool;  // name or pattern (base/text/glob.h)
  size_t tokens;
};

// A timeout for calls of the tools that match `tool`.
struct upstream_tool_timeout {
  str tool;  // name or pattern (base/text/glob.h)
  uint64_t ms;
};

struct upstream_kind;

// A kind may have its own data in a spec. This struct is the first member of such data. `refs` is the number of specs
// that refer to the data, including the spec in the configuration.
struct upstream_own {
  unsigned refs;
};

struct upstream_spec {
  str name;         // the key in mcpServers
  str shown;        // the command line or URL for people: variables are not expanded, and secrets are masked
  str description;  // from the configuration; may be empty
  bool anonymous;   // the gateway has chosen the name of the server
  const struct upstream_kind *kind;  // upstream/kind.h
  enum upstream_isolation isolation;
  enum upstream_protocol protocol;
  struct secrets_known secrets;  // all secrets that occur in the following members
  struct secrets_known hidden;   // secrets and addresses to mask in errors for agents
  // used by the kind stdio
  str command;
  str program;  // `command` as configured, before variables were expanded
  str *args;
  size_t arg_count;
  struct upstream_pair *env;  // environment variables of the process, which also gets a few variables of the gateway
  size_t env_count;
  str cwd;          // empty: the gateway's own folder
  bool unconfined;  // as in struct child_spec: the process is not confined (io/process/lockdown.h)
  // used by the kinds http and sse
  str url;
  struct upstream_pair *headers;
  size_t header_count;
  // used by other kinds
  struct upstream_own *own;  // the kind's own data, such as struct snapshot; this spec holds one reference
  // all
  uint64_t timeout_ms;                          // timeout of one request, renewed by progress; 0: the gateway's default
  struct upstream_tool_timeout *tool_timeouts;  // timeouts of single tools; the first match counts
  size_t tool_timeout_count;
  size_t result_tokens;                       // token budget of a result; 0: the gateway's default
  struct upstream_tool_budget *tool_budgets;  // token budgets of single tools; the first match counts
  size_t tool_budget_count;
  // Names or patterns of tools (base/text/glob.h). If on_tools is not empty, only tools in on_tools can be used. Tools
  // in off_tools can never be used.
  str *on_tools, *off_tools;
  size_t on_tool_count, off_tool_count;
  bool has_idle;              // idle_ms is configured
  uint64_t idle_ms;           // idle time after which a connection closes; 0: never
  uint64_t max_in_flight;     // maximum calls in flight on one connection; 0: the gateway's default
  uint64_t start_timeout_ms;  // timeout of connecting and the handshake; 0: the gateway's default
};

// The kinds of launchers: programs that install another program before they start it.
enum upstream_launcher {
  UPSTREAM_NO_LAUNCHER,
  UPSTREAM_NPX,       // npx, npm exec: installs into a cache that only one process may change at a time
  UPSTREAM_LAUNCHER,  // bunx, pnpm dlx, yarn dlx, uvx, uv run, pipx run, docker run, podman run, dotnet run, dnx, ...
};
enum upstream_launcher spec_launcher(const struct upstream_spec *s);

// spec_copy copies all strings to the arena and takes a reference to s->own. spec_done releases this reference.
void spec_copy(struct upstream_spec *out, const struct upstream_spec *s, struct arena *a);
void spec_done(struct upstream_spec *s);

// Returns whether the configuration (enabledTools, disabledTools) allows the tool with this name.
bool spec_serves(const struct upstream_spec *s, str tool);

// Turns an error message into a text that agents may read. Secrets and addresses are masked. From messages of the
// gateway, the server's address, proxy, program and folders are removed. Returns `text` itself, or a copy in the arena.
str spec_public_text(const struct upstream_spec *s, struct arena *a, str text);

// Returns whether both servers need the same kinds of credentials: headers and environment variables of the same names,
// and the same isolation of clients.
bool spec_same_auth(const struct upstream_spec *a, const struct upstream_spec *b);

// Returns whether both specs are equal, except for texts that only people read. A reload then keeps the connections.
bool spec_same(const struct upstream_spec *a, const struct upstream_spec *b);
