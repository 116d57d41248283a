// SPDX-License-Identifier: Apache-2.0
// Access rules: the compiled rules file, and decisions that name their rule.
//
//   {"agents": {"backend": {"allow": {"servers": ["db"], "tools": {"db": ["query", "list_*"]}},
//                           "deny":  {"servers": [],     "tools": {"*": ["drop_*"]}, "methods": ["vendor/*"]}}},
//    "defaults": {"deny_on_missing_agent": true, "precedence": "document"}}
//
// An entry matches a whole name, case-sensitively; '*' matches any run of characters. The key "*" of `tools` applies to
// every server, after the server's own key. Agent `team.role` also has the rules of `team`, which come after its own
// rules.
//
// A server is denied if a deny entry matches, otherwise allowed if an allow entry matches, otherwise denied. A tool of
// a denied server is denied. For other tools, the first match in this order decides:
//   document    explicit deny, explicit allow, wildcard deny, wildcard allow, else denied;
//   deny-first  explicit deny, wildcard deny, explicit allow, wildcard allow, allowed if every allow list for the
//               server is empty or missing, else denied.
// Methods outside the protocol (allow.methods, deny.methods) follow the same order as tools, but a method that no entry
// matches is always denied. If several entries of one class match, the agent's own entries come before those of an
// ancestor, entries under the server's key before those under "*", and earlier entries before later ones.
//
// A policy is immutable and reference-counted: a reload creates a new policy, and running requests keep the old one.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

struct policy;
struct policy_agent;
struct policy_entry;

enum policy_order { POLICY_DOCUMENT, POLICY_DENY_FIRST };

// Called for each problem in the rules: a warning if `warning` is set, otherwise an error. `pointer` is a JSON Pointer
// into the rules.
typedef void policy_problem(void *ctx, bool warning, str pointer, const char *message);

enum { POLICY_AGENTS_MAX = 10000, POLICY_DEPTH_MAX = 16 };  // maximum number of agents, and of dots in an agent id

// Compiles rules. `root` may be freed afterwards. Returns a policy with one reference, or NULL if an error was
// reported.
struct policy *policy_read(const struct json *root, policy_problem *problem, void *ctx);
struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy **p);

bool policy_denies_missing(const struct policy *p);  // returns defaults.deny_on_missing_agent
enum policy_order policy_order(const struct policy *p);

// Returns whether the text is a valid agent id.
bool policy_is_agent_id(str id);

// Returns the rules of an agent. If the agent has no rules, returns those of its nearest ancestor with rules, or NULL.
const struct policy_agent *policy_find(const struct policy *p, str id);
str policy_agent_name(const struct policy_agent *a);  // returns the id of the agent in the rules file

// policy_agent_count returns the number of agents in the rules file, policy_agent_at the agent at a position in the
// file.
size_t policy_agent_count(const struct policy *p);
const struct policy_agent *policy_agent_at(const struct policy *p, size_t index);

enum policy_class { POLICY_EXPLICIT, POLICY_WILDCARD, POLICY_IMPLICIT, POLICY_NO_MATCH, POLICY_UNKNOWN_AGENT };

struct policy_decision {
  bool allowed;
  enum policy_class by;
  const struct policy_agent *agent;  // NULL if the agent is unknown
  const struct policy_entry *entry;  // the rule that decided; NULL if no rule matched
  str server;                        // the server that the decision is about
  bool of_tool;                      // the tool lists were searched, even if no entry matched
  bool of_method;                    // the method lists were searched, even if no entry matched
  str governed;                      // entry of the governance file that denied; STR_NONE if the rules decided
  bool quarantined;                  // denied only because the tool differs from its pin
};

// Decides whether an agent may use a tool or, if `tool` is STR_NONE, the server. A NULL agent is denied.
struct policy_decision policy_decide(const struct policy *p, const struct policy_agent *agent, str server, str tool);

// Decides whether an agent may use a method outside the protocol, by the lists allow.methods and deny.methods. A NULL
// agent is denied.
struct policy_decision policy_decide_method(const struct policy *p, const struct policy_agent *agent, str method);

// policy_put_path appends the rule that decided, as a dotted path (agents.t.deny.tools.db[0]); policy_put_pointer
// appends it as a JSON Pointer (/agents/t/deny/tools/db/0).
void policy_put_path(const struct policy_decision *d, struct buf *out);
void policy_put_pointer(const struct policy_decision *d, struct buf *out);
const char *policy_class_name(enum policy_class c);  // "explicit", "wildcard", …

// ---- the rules themselves, for policy lint

struct policy_entry {
  const struct policy_agent *agent;  // owner of the rule
  str server;                        // key of the tool list; STR_NONE for servers and methods
  str text;
  uint32_t index;  // position in its list
  bool deny;
  bool pattern;  // contains a '*'
  bool method;   // the entry is in allow.methods or deny.methods
};

// policy_entry_count and policy_entry_at list the agent's own entries, without those of its ancestors: first the deny
// entries, then the allow entries, each in the order of the file.
size_t policy_entry_count(const struct policy_agent *a);
const struct policy_entry *policy_entry_at(const struct policy_agent *a, size_t index);
void policy_put_entry_pointer(const struct policy_entry *e, struct buf *out);
