// SPDX-License-Identifier: Apache-2.0
// A request for approval: a call with frozen arguments that people must approve before it runs, their decisions, and
// the outcome of the call. This module reads, changes and writes the record of one request. effect/approvals.h stores
// the records.
//
//   pending   -> approved, denied, expired or withdrawn
//   approved  -> executing, denied, expired, withdrawn or invalidated
//   executing -> completed, failed or unknown
#pragma once
#include "base/arena.h"
#include "base/crypto/rand.h"
#include "govern/approvals.h"
#include "observe/gateway_key.h"
#include "json/write.h"

// Each row: a state, its name in records and answers, and whether it is final.
#define APPROVAL_STATES(X) \
  X(PENDING, "pending", false) \
  X(APPROVED, "approved", false) \
  X(EXECUTING, "executing", false) /* the call was started; it cannot be started again */ \
  X(COMPLETED, "completed", true)  /* the server has answered */ \
  X(FAILED, "failed", true)        /* the call failed and had no effect, or the server reported an error */ \
  X(UNKNOWN, "unknown", true)      /* the effect of the call may have happened */ \
  X(DENIED, "denied", true) \
  X(EXPIRED, "expired", true) \
  X(WITHDRAWN, "withdrawn", true)     /* the client that made the request is gone */ \
  X(INVALIDATED, "invalidated", true) /* the call is no longer the call that was approved */

enum approval_state {
#define X(name, word, final) APPROVAL_STATE_##name,
  APPROVAL_STATES(X)
#undef X
      APPROVAL_STATE_COUNT
};

const char *approval_state_name(enum approval_state s);
bool approval_state_is_final(enum approval_state s);

enum {
  APPROVAL_ID_SIZE = 5 + 16 + 1,    // "areq_", 16 hexadecimal digits and a NUL
  APPROVAL_HASH_SIZE = 7 + 64 + 1,  // "sha256:", 64 hexadecimal digits and a NUL
  APPROVAL_ARGS_MAX = 256 << 10,    // maximum bytes of the arguments of a call that needs approval
  APPROVAL_RESULT_MAX = 256 << 10,  // larger results are not stored
  APPROVAL_EXCERPT_MAX = 1024,      // bytes of a piece of evidence that approvers see
  APPROVAL_REASON_MAX = 1024,
};

// A signed decision of an approver about one gate.
struct approval_decision {
  str decision_id, approver, role, gate_id, reason;
  str via;  // how the decision came: "cli", "http" or "webhook"
  bool approve;
  int64_t at;  // wall clock in milliseconds
  str call_hash, kid, sig;
};

struct approval_gate {
  str gate_id, role;
  uint64_t quorum;
  struct approval_decision *decisions;
  size_t decision_count;
};

struct approval_evidence {
  str gate_id, capability, sha256;
  str excerpt;  // beginning of the result, with secrets masked
};

// The strings are in the arena of the reader. STR_NONE: absent.
struct approval {
  str request_id;
  enum approval_state state;
  int64_t proposed_at, expires_at;  // wall clock in milliseconds
  // the caller
  str owner;    // hash that identifies the caller (approval_owner)
  str session;  // hash of the session's id; STR_NONE for a stateless client
  str tenant, agent, principal;
  str principals;  // raw JSON array
  // the call
  str server, tool, capability, class, mode;
  str tool_id;  // as the client named the tool
  str args;     // raw JSON object: the bytes that are sent to the server
  str shown;    // `args` with secrets masked; STR_NONE: nothing was masked
  str meta;     // raw JSON object: members of _meta that are sent to the server
  str options;  // raw JSON object: options of the caller, for call/approved_call.h
  str decision_id;
  str governance;  // digest of the governance file
  str same;        // hash that is equal for identical calls of one caller
  str call_hash;   // hash that the decisions sign
  str evidence_hash;
  struct approval_evidence *evidence;
  size_t evidence_count;
  struct approval_gate *gates;
  size_t gate_count;
  // the execution
  str gateway;            // instance of the gateway that executes the call
  str code;               // code of the failure
  str result;             // raw JSON: the result of the server
  bool stateless_result;  // the server of `result` is stateless
  str history;            // raw JSON array: the changes of the state
};

// Reads a record. Returns false if the text is not a record: the request then counts as not approved.
bool approval_read(str text, struct arena *a, struct approval *out);
void approval_put(const struct approval *x, struct buf *out);
void approval_copy(const struct approval *x, struct arena *a, struct approval *out);

// Writes a request as people and programs see it. `whole` adds the decisions, the evidence and the history.
void approval_put_shown(const struct approval *x, bool whole, struct json_writer *w);

// Returns the state at a time (wall clock in milliseconds): a pending or approved request whose time is over is
// expired. A request that was made more than a minute in the future is expired too, because the clock was set back.
enum approval_state approval_state_at(const struct approval *x, int64_t now);

// Changes the state, and adds the change to the history. `by` and `why` are STR_NONE if there is nothing to say.
void approval_set_state(struct approval *x, enum approval_state s, int64_t now, str by, str why, struct arena *a);

// ---- hashes

// Identifies a caller: its tenant, agent, credential and principals (JSON array or NULL).
void approval_owner(str tenant, str agent, str principal, const struct json *principals, char out[APPROVAL_HASH_SIZE]);

// Hash of a call: the capability, the arguments, the members of _meta, the mode, the tenant, the principals, the
// evidence and the governance file. Two calls with different hashes need different approvals.
void approval_hash(const struct approval *x, char out[APPROVAL_HASH_SIZE]);

// Hash of the evidence: of the references and hashes of all pieces, in their order.
void approval_hash_evidence(const struct approval_evidence *list, size_t count, char out[APPROVAL_HASH_SIZE]);

// Hash that is equal for identical calls of one caller; it ignores the evidence.
void approval_hash_same(const struct approval *x, char out[APPROVAL_HASH_SIZE]);

// ---- decisions

// The decision of a person. The caller must have authenticated the person and the role.
struct approval_vote {
  str approver, role;
  str gate;    // STR_NONE: every gate that this role can decide
  str reason;  // may be empty
  str via;
  bool approve;
};

// Adds a decision to the request, which must be pending or, for a denial, approved. The last approval that is needed
// makes the request approved; one denial makes it denied. A second approval of the same person changes nothing. Returns
// false with FAULT_APPROVAL_INVALID or FAULT_APPROVAL_EXPIRED if the person may not decide: the role is not that of a
// gate, or the person is the agent or one of the principals.
bool approval_vote(struct approval *x, const struct approval_vote *v, const struct gateway_key *key,
                   const struct rand_source *rand, int64_t now, struct arena *a, struct fault *f);

// Returns whether enough valid decisions approve the request for a gate with this role and quorum.
bool approval_satisfies(const struct approval *x, const struct governance_gate *gate, const struct gateway_key *key);
