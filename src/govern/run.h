// SPDX-License-Identifier: Apache-2.0
// Run contexts: who sends the requests of a client, on whose behalf, and within which limits.
//
// A run context is the context of the agent in the governance file (govern/agents.h), combined with the claims of the
// verified token:
//   - `context.claims` in the file names claims of the token, and the members that get their values. A claim cannot
//     change the tenant that the file gives the agent, nor raise safety_mode or a budget.
//   - `principals` lists the identities on whose behalf the agent acts, from the origin to the agent itself: the
//     subject of the token, then the actors of its `act` claims (RFC 8693), then the agent.
//   - `scopes` are the scopes of the token; without a token, those of the file. A run context always has this member.
//   - `run` is an object with the `id` of the run, if the token has one.
//   - `workload` is the subject of the workload token. The last principal has this member, too.
// The context is invalid, and requests are refused, if the same agent acts twice, if a later actor has wider scopes
// than an earlier one, or if an actor belongs to another tenant.
#pragma once
#include "base/crypto/hash.h"
#include "govern/govern_impl.h"

// Limits of a run. 0 means no limit, except for max_cost.
struct run_budget {
  uint64_t max_calls;
  uint64_t max_wall_ms;  // time limit of the run, from its first call
  uint64_t max_call_ms;  // time limit of one call
  double max_cost;       // sum of the costs of the capabilities; negative: no limit
};

enum { RUN_PRINCIPALS_MAX = 8 };

// Immutable and reference-counted. Without references it stays valid until many other contexts have been created, so a
// caller that uses it only inside one function needs no reference.
struct run_context {
  uint32_t magic;
  unsigned refs;
  struct governance *governance;     // kept with a reference while `refs` is not 0
  struct governance_agent governed;  // the context that decisions use; contains `principals`
  struct run_budget budget;
  bool wants_evidence;  // evidence_required in the context of the agent
  str agent;
  str owner;      // a text that identifies the agent and its tenant; empty without an agent
  str id;         // run_id of the token, or STR_NONE
  str canonical;  // canonical form (RFC 8785) of governed.context, or STR_NONE if it has none
  str key;
  struct list idle;  // in governance->idle_runs while refs is 0
  struct arena arena;
};

struct run_source {
  const struct hash_key *seed;
  str agent;       // may be empty
  str credential;  // name of a token of the configuration; STR_NONE: the user who runs the gateway
  str claims;      // claims of a JSON Web Token, a JSON object; STR_NONE without such a token
  str workload;    // subject of the verified workload token; STR_NONE without such a token
};

// Returns the run context for a source, without a reference for the caller. Returns NULL with FAULT_IDENTITY_INVALID or
// FAULT_TENANT_MISMATCH in f.
struct run_context *run_context_get(struct governance *g, const struct run_source *s, struct fault *f);
struct run_context *run_context_ref(struct run_context *r);
void run_context_unref(struct run_context **r);
void run_contexts_free(struct governance *g);  // called when the governance is freed

// Returns the claim that contains the tenant, or STR_NONE.
str governance_tenant_claim(const struct governance *g);

// Reads the member `budget` of a context. Returns false if it is malformed.
bool run_budget_read(const struct json *v, struct run_budget *out);
