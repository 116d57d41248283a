// SPDX-License-Identifier: Apache-2.0
// Decisions of the access rules and the governance file together, for `toolgate policy`. The gateway decides in the
// same order: the access rules first and, if they allow, the governance file. The last of the two that was asked
// decides.
#pragma once
#include "app/cli/command.h"
#include "govern/agents.h"
#include "govern/run.h"
#include "policy/policy.h"

struct access {
  struct policy *policy;          // NULL: there are no rules
  struct governance *governance;  // NULL: there is no governance file
  str rules_file;                 // empty if there are no rules
  struct arena arena;
};

// Loads the files that `serve` would use; --governance replaces the governance file of the configuration. On failure
// prints the problems, sets *out_status and returns false. If `quiet` is set, prints no warnings, because the caller
// reads the whole configuration later.
bool access_open(struct access *x, const struct arguments *args, bool quiet, int *out_status);
void access_close(struct access *x);

struct access_answer {
  // The decision that counts. If the governance file made it, decision.governed is the place in this file.
  struct policy_decision decision;
  struct policy_decision rules;  // the decision of the access rules
  enum governance_code code;     // GOVERNANCE_ALLOWED, or why the governance file denies
};

// Returns the run context of an agent, without a token or with these claims (a JSON object). NULL if there is no
// governance file, or, with the reason in `f`, if the claims are refused.
struct run_context *access_context(const struct access *x, str agent, str claims, struct fault *f);

// Decides about a server or, unless `tool` is STR_NONE, about a tool. `run` is the result of access_context.
struct access_answer access_decide(const struct access *x, const struct policy_agent *agent,
                                   const struct run_context *run, str server, str tool);

// The agents of the rules or, if there are no rules, of the governance file.
size_t access_agent_count(const struct access *x);
str access_agent_name(const struct access *x, size_t index);
