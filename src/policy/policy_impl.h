// SPDX-License-Identifier: Apache-2.0
// Internals shared by the files of src/policy only.
#pragma once
#include "policy/policy.h"

enum policy_effect { POLICY_DENY, POLICY_ALLOW };
enum { POLICY_EFFECTS = 2, POLICY_MAGIC = 0x706f6c31 };

struct policy_list {
  const struct policy_entry **list;
  size_t count;
};

// An agent's tool rules under one server key. The key is the server's name, or "*" for all servers.
struct policy_tools {
  str server;
  struct policy_list exact[POLICY_EFFECTS];     // sorted by text, then in file order
  struct policy_list patterns[POLICY_EFFECTS];  // names with a '*', in file order
};

struct policy_agent {
  str id;
  const struct policy_agent *parent;  // nearest ancestor that has rules, or NULL
  struct policy_entry *own;
  size_t own_count;
  struct policy_list servers[POLICY_EFFECTS];  // in file order
  struct policy_list methods[POLICY_EFFECTS];  // in file order
  struct policy_tools *tools;                  // sorted by server
  size_t tools_count;
};

struct policy {
  uint32_t magic;
  unsigned refs;
  struct arena arena;
  struct policy_agent *agents;  // in file order
  size_t agent_count;
  struct policy_agent **by_id;
  bool denies_missing;
  enum policy_order order;
};

// Sorts the entries for lookups. Returns NULL on success, or the first agent that has too many ancestors.
const struct policy_agent *policy_compile(struct policy *p);

// Returns whether the text of the entry matches the name.
bool policy_matches(const struct policy_entry *e, str name);
