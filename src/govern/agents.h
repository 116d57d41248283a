// SPDX-License-Identifier: Apache-2.0
// Contexts of agents: their role, intent, tenant, environment and ceiling. They come from the member `context` of the
// governance file:
//
//   context:
//     unlisted_servers: deny
//     unlisted_tools: deny
//     defaults: { tenant: acme, environment: prod, safety_mode: delegated }
//     agents: { support: { role: support_agent, intent: support.refund } }
//
// An agent has the members of `defaults`, overridden by those of its ancestors (`team` for `team.role`), then by its
// own. Only of `safety_mode`, the lowest of these values applies. An agent that is not listed has the members of its
// nearest listed ancestor, or of `defaults`.
#pragma once
#include "govern/govern.h"

struct governance_agent;

// Returns the context of an agent (never NULL). It is valid as long as `g`.
const struct governance_agent *governance_agent_get(const struct governance *g, str agent);

// The agents that the file lists, sorted by id.
size_t governance_agent_count(const struct governance *g);
str governance_agent_name(const struct governance *g, size_t index);

// Returns whether claims of a token become members of the context.
bool governance_reads_claims(const struct governance *g);

// Returns the capability of a server's tool, or NULL.
const struct governance_capability *governance_find_tool(const struct governance *g, str server, str tool);

// Returns the id that a capability for a server's tool has or would have. Returns an empty id if the tool has none and
// would be provisional, because a decision must not make a provisional capability for it.
str governance_tool_id(const struct governance *g, str server, str tool, struct arena *a);

// Returns the adapter that names this server, for itself or for one of its versions, or NULL.
const struct governance_adapter *governance_adapter_of(const struct governance *g, str server);
// Returns whether an adapter of the file governs this server.
bool governance_governs(const struct governance *g, str server);
// Returns how to treat a result of this server that does not match the output schema of its tool.
enum governance_output governance_output_of(const struct governance *g, str server);
// Which servers without an adapter agents may use: none, all without governance, or all with provisional capabilities
// (govern/provisional.h).
enum governance_unlisted { UNLISTED_DENY, UNLISTED_ALLOW, UNLISTED_PROVISIONAL };
enum governance_unlisted governance_unlisted(const struct governance *g);
// Returns UNLISTED_DENY or UNLISTED_PROVISIONAL, for tools that no capability of their server's adapter names.
enum governance_unlisted governance_unlisted_tools(const struct governance *g);
// Returns whether agents may use servers without an adapter as if there were no governance file.
bool governance_allows_unlisted(const struct governance *g);

// Returns whether a tenant may use a tool of a server: whether a permission for all tenants or for this one allows the
// tool. With an empty tool, returns whether the tenant may use any tool of the server.
bool governance_serves_tenant(const struct governance *g, str tenant, str server, str tool);

// Returns whether an agent may see a tool or, if `tool` is STR_NONE, a server. If every call would be denied, whatever
// its arguments are, returns false, and *out is the denial of a call that requests no mode. Otherwise out->pointer is
// the place in the file that allows the tool or the server.
struct governance_verdict {
  enum governance_code code;  // GOVERNANCE_ALLOWED, or the reason of the denial
  str pointer;
};
bool governance_shows(const struct governance *g, const struct governance_agent *p, str server, str tool,
                      struct governance_verdict *out);
