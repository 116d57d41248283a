// SPDX-License-Identifier: Apache-2.0
// Who may use what: the rules file, compiled, and decisions that name the rule that made them.
//
//   {"agents": {"backend": {"allow": {"servers": ["db"], "tools": {"db": ["query", "list_*"]}},
//                           "deny":  {"servers": [],     "tools": {"*": ["drop_*"]}, "methods": ["vendor/*"]}}},
//    "defaults": {"deny_on_missing_agent": true, "precedence": "document"}}
//
// An entry matches a whole name, case-sensitively; '*' in it stands for anything. The key "*" of `tools` is for every
// server, behind the server's own key. `team.role` has the rules of `team` too, behind its own.
//
// A server: a deny that matches wins, then an allow; else it is denied. A tool needs its server allowed; then
//   document    explicit deny, explicit allow, wildcard deny, wildcard allow, else denied;
//   deny-first  explicit deny, wildcard deny, explicit allow, wildcard allow, allowed when no allow list for the server
//               has an entry (one that is empty is as good as none), else denied.
// A method that the protocol does not have (allow.methods, deny.methods) is decided like a tool, without the last grant
// of deny-first.
// Among the entries of the class that decides, the rule is the agent's own before its ancestors', the server's key
// before "*", the first in its list.
//
// A policy is immutable and counted: a change makes another, and who began with one keeps it.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

struct policy;
struct policy_agent;
struct policy_entry;

enum policy_order { POLICY_DOCUMENT, POLICY_DENY_FIRST };

// Told of everything that is wrong, or (warning) odd. pointer: a JSON Pointer into the document.
typedef void policy_problem(void *ctx, bool warning, str pointer, const char *message);

enum { POLICY_AGENTS_MAX = 10000, POLICY_DEPTH_MAX = 16 };  // agents, and dots in the id of one

// Copies what it needs. NULL when something is wrong that is no warning. One reference is the caller's.
struct policy *policy_read(const struct json *root, policy_problem *problem, void *ctx);
struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy **p);

bool policy_denies_missing(const struct policy *p);  // defaults.deny_on_missing_agent
enum policy_order policy_order(const struct policy *p);

// May this text be the id of an agent?
bool policy_is_agent_id(str id);

// The rules of an agent: its own, or those of the nearest ancestor that has some. NULL: nobody knows it.
const struct policy_agent *policy_find(const struct policy *p, str id);
str policy_agent_name(const struct policy_agent *a);  // under which they stand

// Agents that the file names, in its order.
size_t policy_agent_count(const struct policy *p);
const struct policy_agent *policy_agent_at(const struct policy *p, size_t index);

enum policy_class { POLICY_EXPLICIT, POLICY_WILDCARD, POLICY_IMPLICIT, POLICY_NO_MATCH, POLICY_UNKNOWN_AGENT };

struct policy_decision {
  bool allowed;
  enum policy_class by;
  const struct policy_agent *agent;  // NULL: unknown
  const struct policy_entry *entry;  // NULL: nothing matched
  str server;                        // that was asked about
  bool of_tool;                      // it is a list of tools that decided, or had none that matched
  bool of_method;                    // the same of methods
};

// tool: STR_NONE asks about the server alone. agent: NULL is denied.
struct policy_decision policy_decide(const struct policy *p, const struct policy_agent *agent, str server, str tool);

// May the agent send requests of a method that is not one of the protocol? Decided as for a tool, by the lists
// `methods`, without an implicit grant. agent: NULL is denied.
struct policy_decision policy_decide_method(const struct policy *p, const struct policy_agent *agent, str method);

// The rule as a dotted path (agents.t.deny.tools.db[0]) and as a JSON Pointer (/agents/t/deny/tools/db/0).
void policy_put_path(const struct policy_decision *d, struct buf *out);
void policy_put_pointer(const struct policy_decision *d, struct buf *out);
const char *policy_class_name(enum policy_class c);  // "explicit", "wildcard", …

// ---- for whoever looks at the rules themselves (policy lint)

struct policy_entry {
  const struct policy_agent *agent;  // in whose rules it stands
  str server;                        // the key of its tool list; STR_NONE: it is an entry for servers or methods
  str text;
  uint32_t index;  // in its list
  bool deny;
  bool pattern;  // it has a '*'
  bool method;   // it is an entry for methods
};

// All entries of an agent, without its ancestors', in the order of the file: deny before allow, servers before tools.
size_t policy_entry_count(const struct policy_agent *a);
const struct policy_entry *policy_entry_at(const struct policy_agent *a, size_t index);
void policy_put_entry_pointer(const struct policy_entry *e, struct buf *out);
