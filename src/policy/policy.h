// SPDX-License-Identifier: Apache-2.0
// Access rules: the compiled rules file, and decisions that name their rule.
//
//   {"agents": {"backend": {"allow": {"servers": ["db"], "tools": {"db": ["query", "list_*"]}},
//                           "deny":  {"servers": [],     "tools": {"*": ["drop_*"]}, "methods": ["vendor/*"]}}},
//    "defaults": {"deny_on_missing_agent": true, "precedence": "document"}}
//
// An entry matches a whole name, case-sensitively; '*' matches any run of characters. The key "*" of `tools` applies to
// every server, after the server's own key. `team.role` also has the rules of `team`, after its own.
//
// A server: a deny that matches wins, then an allow; else it is denied. A tool needs its server allowed; then
//   document    explicit deny, explicit allow, wildcard deny, wildcard allow, else denied;
//   deny-first  explicit deny, wildcard deny, explicit allow, wildcard allow, allowed if every allow list for the
//               server is empty or missing, else denied.
// A method outside the protocol (allow.methods, deny.methods) is decided like a tool, without the implicit grant of
// deny-first.
// Among matching entries of the deciding class, an own one comes before an ancestor's, the server's key before "*",
// then the order of the list.
//
// A policy is immutable and reference-counted: new rules make a new policy, and running requests keep theirs.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

struct policy;
struct policy_agent;
struct policy_entry;

enum policy_order { POLICY_DOCUMENT, POLICY_DENY_FIRST };

// Receives each error, or (warning) oddity, in the rules. pointer: a JSON Pointer into the document.
typedef void policy_problem(void *ctx, bool warning, str pointer, const char *message);

enum { POLICY_AGENTS_MAX = 10000, POLICY_DEPTH_MAX = 16 };  // agents; dots in an agent id

// Reads rules and copies what it needs. Returns one reference, or NULL after an error.
struct policy *policy_read(const struct json *root, policy_problem *problem, void *ctx);
struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy **p);

bool policy_denies_missing(const struct policy *p);  // defaults.deny_on_missing_agent
enum policy_order policy_order(const struct policy *p);

// Returns whether the text is a valid agent id.
bool policy_is_agent_id(str id);

// Returns the rules of an agent: its own, or those of its nearest ancestor with rules; NULL if neither has any.
const struct policy_agent *policy_find(const struct policy *p, str id);
str policy_agent_name(const struct policy_agent *a);  // the id in the rules file

// The agents of the file, in its order.
size_t policy_agent_count(const struct policy *p);
const struct policy_agent *policy_agent_at(const struct policy *p, size_t index);

enum policy_class { POLICY_EXPLICIT, POLICY_WILDCARD, POLICY_IMPLICIT, POLICY_NO_MATCH, POLICY_UNKNOWN_AGENT };

struct policy_decision {
  bool allowed;
  enum policy_class by;
  const struct policy_agent *agent;  // NULL if unknown
  const struct policy_entry *entry;  // NULL if no entry matched
  str server;                        // the server in question
  bool of_tool;                      // tool lists decided, or had no match
  bool of_method;                    // method lists decided, or had no match
};

// Decides about a tool, or about the server alone if tool is STR_NONE. A NULL agent is denied.
struct policy_decision policy_decide(const struct policy *p, const struct policy_agent *agent, str server, str tool);

// Decides about a method outside the protocol: like a tool, by the lists `methods`, without an implicit grant. A NULL
// agent is denied.
struct policy_decision policy_decide_method(const struct policy *p, const struct policy_agent *agent, str method);

// Append the rule as a dotted path (agents.t.deny.tools.db[0]) and as a JSON Pointer (/agents/t/deny/tools/db/0).
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
  bool method;   // applies to methods
};

// The entries of an agent, without its ancestors', in the order of the file: deny before allow, servers before tools.
size_t policy_entry_count(const struct policy_agent *a);
const struct policy_entry *policy_entry_at(const struct policy_agent *a, size_t index);
void policy_put_entry_pointer(const struct policy_entry *e, struct buf *out);
