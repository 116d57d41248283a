// SPDX-License-Identifier: Apache-2.0
// What rules come to, given the servers and tools that there are: which entries decide something, and what each agent
// can reach. For people who write rules.
#pragma once
#include "policy/policy.h"

struct survey_server {
  str name;
  const str *tools;
  size_t tool_count;
};

struct survey_entry {
  const struct policy_entry *entry;
  bool matches;                     // something that is there
  bool decides;                     // at least one question
  const struct policy_entry *over;  // when it never does: one that decides before it; NULL: nothing does
};

struct survey_agent {
  const struct policy_agent *agent;
  size_t allowed, tools;  // of how many
  struct survey_entry *entries;
  size_t entry_count;
};

struct survey {
  struct survey_agent *agents;  // as in the file
  size_t count;
};

// Asks every question that there is, once. In the arena.
struct survey policy_survey(const struct policy *p, const struct survey_server *servers, size_t count, struct arena *a);
