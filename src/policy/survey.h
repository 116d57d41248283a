// SPDX-License-Identifier: Apache-2.0
// Evaluates rules against the existing servers and tools, for authors of rules: finds the entries that decide
// something, and the tools that each agent may call.
#pragma once
#include "policy/policy.h"

struct survey_server {
  str name;
  const str *tools;
  size_t tool_count;
};

struct survey_entry {
  const struct policy_entry *entry;
  bool matches;                     // matches an existing server or tool
  bool decides;                     // decides about at least one server or tool
  const struct policy_entry *over;  // the entry that took precedence over this one; NULL if none did
};

struct survey_agent {
  const struct policy_agent *agent;
  size_t allowed, tools;  // number of tools that the agent may call, and of all tools
  struct survey_entry *entries;
  size_t entry_count;
};

struct survey {
  struct survey_agent *agents;  // in file order
  size_t count;
};

// Applies the rules of each agent to every server and tool. The result is in the arena.
struct survey policy_survey(const struct policy *p, const struct survey_server *servers, size_t count, struct arena *a);
