// SPDX-License-Identifier: Apache-2.0
// The caller of a request: its agent, and the rules that apply to the agent. If the rules change during a call, the old
// rules still apply to the call. But a parked call continues under the new rules (call/bridge/parked_calls.c).
#pragma once
#include "catalog/pins/pins.h"
#include "effect/approvals.h"
#include "mcp/server/session.h"
#include "policy/identity.h"

// The current rules. The application owns this struct, and replaces `policy` when the rules file is reloaded. If
// `policy` and `governance` are NULL, every caller may use everything.
struct rulebook {
  struct policy *policy;          // NULL: there are no rules
  struct governance *governance;  // NULL: there is no governance file
  struct pins *pins;              // NULL: tools are not compared with pins
  struct approvals *approvals;    // NULL: there is no governance file
  uint64_t epoch;                 // changes whenever `policy` or `governance` changes
  str fallback;                   // the agent of a request that names none; may be empty
  bool trust_stated;              // accept the agent that a request names even if the request has no credential for it
  char digest[2 * SHA256_SIZE + 1];  // SHA-256 of the rules file; empty without rules
};

struct caller {
  const struct policy *policy;          // NULL: there are no rules
  const struct policy_agent *agent;     // rules of the agent; NULL if there are no rules
  str id;                               // may be empty without rules
  const struct governance *governance;  // NULL: calls are not governed
  struct run_context *run;              // context for the governance file; NULL without such a file
  const struct pins *pins;              // NULL: the caller may use tools that differ from their pins
};

// Returns whether rules or a governance file may hide items from this caller.
static inline bool caller_is_limited(const struct caller *c) {
  return c->policy || c->governance;
}
// Returns whether rules or a governance file may hide items from any caller.
static inline bool rulebook_limits(const struct rulebook *b) {
  return b->policy || b->governance;
}

// Finds the caller of a request. `named` is the agent that the request names, empty if the request names no agent, or
// STR_NONE if it cannot name one. Sets out->policy without taking a reference. Returns false with the reason in `f` on
// failure.
bool caller_find(const struct rulebook *book, const struct session *s, str named, struct caller *out, struct fault *f);

static inline bool caller_is_unknown(enum fault_code code) {  // whether `code` is a fault of caller_find
  return code == FAULT_INVALID_AGENT_ID || code == FAULT_FALLBACK_AGENT_NOT_IN_RULES ||
         code == FAULT_NO_FALLBACK_CONFIGURED;
}

// Passes the annotations (hints) of a tool to the caller's governance file, for the case that no adapter in the file
// lists the tool. Must be called before caller_decide if the item is known.
void caller_note_item(const struct caller *c, str server, const struct item *item);

// Decides whether a caller may see and use an item. The decision depends on the server and, for a tool, on the tool's
// name.
struct policy_decision caller_decide(const struct caller *c, str server, enum item_kind kind, str name);

// Returns the path of the rule that made caller_find fail, or STR_NONE if the credential was the reason.
str caller_rule(const struct rulebook *book, const struct session *s, str named, const struct fault *f);
// Sets `f` to a fault that describes why a tool is quarantined.
void caller_describe_quarantine(const struct caller *c, str server, str tool, struct fault *f);
// Sets `f` to a fault that describes the denial of a tool or, if `tool` is STR_NONE, of a server.
void caller_describe_denial(const struct caller *c, const struct policy_decision *d, str tool, struct fault *f);

static inline bool caller_may(const struct caller *c, str server, enum item_kind kind, str name) {
  return !caller_is_limited(c) || caller_decide(c, server, kind, name).allowed;
}

// Returns whether lists and searches show an item to a caller. They show the adapter's own server, but not the servers
// of other versions of the adapter (govern/versions.h).
bool caller_lists(const struct caller *c, str server, enum item_kind kind, str name);
