// SPDX-License-Identifier: Apache-2.0
// The operations of `toolgate approvals`, for the control socket.
//
//   {"action": "list", "all"?, "status"?, "tenant"?, "agent"?, "capability"?, "role"?}   {"requests": […]}
//   {"action": "show", "request_id"}                                                     the whole request
//   {"action": "approve" | "deny", "request_id", "as", "role"?, "gate"?, "reason"?}      the whole request
//
// Without a role, the role of the first gate that still needs a decision is used. The operator owns the control socket,
// so names and roles of approvers are trusted.
#pragma once
#include "effect/approvals.h"

struct approvals_question;  // an operation in progress; frees itself at its end

// Receives the answer (a raw JSON object) or, if `f` is not NULL, the reason of the failure.
typedef void approvals_answered(void *ctx, str answer, const struct fault *f);

// Starts an operation. `a` may be NULL: there is no governance file. `done` is called once, but not before this
// function has returned, unless it returns NULL: then the params are wrong, and `f` has the reason.
struct approvals_question *approvals_answer(struct approvals *a, const struct json *params, approvals_answered *done,
                                            void *ctx, struct fault *f);
void approvals_answer_cancel(struct approvals_question **q);  // prevents the call of `done`
