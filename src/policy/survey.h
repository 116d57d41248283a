// SPDX-License-Identifier: Apache-2.0
// Evaluates rules against the existing servers and tools: which entries decide something, and which tools each agent
// may call. For authors of rules.
#pragma once
#include "policy/policy.h"

struct survey_server {
  str name;
  const str *tools;
  size_t tool_count;
};

struct survey_entry {
  const struct policy_entry *entry;
  bool matches;                     // an existing server or tool
  bool decides;                     // at least one question
  const struct policy_entry *over;  // an entry that decided in its place; NULL if none did
};

struct survey_agent {
  const struct policy_agent *agent;
  size_t allowed, tools;  // number of allowed tools, and of all tools
  struct survey_entry *entries;
  size_t entry_count;
};

struct survey {
  struct survey_agent *agents;  // as in the file
  size_t count;
};

// Decides about every agent, server and tool once. Returns the results in the arena.
struct survey policy_survey(const struct policy *p, const struct survey_server *servers, size_t count, struct arena *a);
