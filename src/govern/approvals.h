// SPDX-License-Identifier: Apache-2.0
// The member `approvals` of a governance file, and the gates that apply to a call.
#pragma once
#include "govern/govern.h"

// The id of the built-in gate for calls in the mode `destructive` to which no other gate applies.
#define GATE_DESTRUCTIVE STR("DESTRUCTIVE")

// A call that shows approvers what a call would affect. The capability only reads.
struct governance_evidence {
  str pointer;
  const struct governance_capability *capability;
  const struct json *args;  // template (govern/template.h) of the arguments: an object, or NULL
};

enum { APPROVALS_EVIDENCE_MAX = 8 };  // maximum number of pieces of evidence of one gate

struct governance_approvals {
  uint64_t ttl_s;    // seconds for which a request for approval is valid
  int64_t wait_s;    // seconds for which a call waits for the decision; negative if the file does not set it
  uint8_t withdraw;  // enum approvals_withdraw
  struct governance_gate destructive;  // the built-in gate
};

// When the pending requests of a client are withdrawn.
enum approvals_withdraw { WITHDRAW_WITH_SESSION, WITHDRAW_NEVER };

const struct governance_approvals *governance_approvals(const struct governance *g);

// Returns whether some call may need approval: there are gates, or capabilities that may be destructive.
bool governance_may_need_approval(const struct governance *g);

// Returns the gates that must approve an allowed call, in the arena, and their number: the gates of the decision or,
// for a destructive call without a gate, the built-in gate. Returns NULL if the call needs no approval.
const struct governance_gate **governance_gates(const struct governance *g, const struct governance_decision *d,
                                                struct arena *a, size_t *out_count);
