// SPDX-License-Identifier: Apache-2.0
// What the files of the policy share.
#pragma once
#include "policy/policy.h"

enum policy_effect { POLICY_DENY, POLICY_ALLOW };
enum { POLICY_EFFECTS = 2 };

struct entries {
  const struct policy_entry **list;
  size_t count;
};

// What one agent says of the tools of a server, or of all servers ("*").
struct tool_rules {
  str server;
  struct entries exact[POLICY_EFFECTS];     // by text, then as in the file
  struct entries patterns[POLICY_EFFECTS];  // as in the file
};

struct policy_agent {
  str id;
  const struct policy_agent *parent;  // the nearest ancestor with rules
  struct policy_entry *own;
  size_t own_count;
  struct entries servers[POLICY_EFFECTS];
  struct entries methods[POLICY_EFFECTS];  // as in the file
  struct tool_rules *tools;                // by server
  size_t tools_count;
};

struct policy {
  unsigned refs;
  struct arena arena;
  struct policy_agent *agents;  // as in the file
  size_t agent_count;
  struct policy_agent **by_id;
  bool denies_missing;
  enum policy_order order;
};

// Makes what decisions look things up in. NULL, or the agent that has too many ancestors.
const struct policy_agent *policy_compile(struct policy *p);

// What an agent itself says of the tools of a server; NULL: nothing.
struct tool_rules *policy_tool_rules(const struct policy_agent *a, str server);
