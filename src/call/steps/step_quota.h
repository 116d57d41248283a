// SPDX-License-Identifier: Apache-2.0
// How often a session may do something, where the operator sets limits: for each meta-tool, and for single tools. A
// call counts as its meta-tool in every mode: the limits protect what is behind. Clients without a session count by
// their credential.
#pragma once
#include "call/pipeline.h"

// The details of a limit that was reached: {"scope", "retry_after"?}. after_ms 0: waiting helps not, or nobody knows.
void call_put_limit(struct buf *out, const char *scope, uint64_t after_ms);
void calls_forget_quota(struct call_context *x, const struct session *s);
