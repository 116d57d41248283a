// SPDX-License-Identifier: Apache-2.0
// Who calls, and whether it may. What a caller may not see is not found, as if it were not there; what it names by its
// server and its own name, so that nothing is given away, is refused with the rule that says so.
#pragma once
#include "call/pipeline.h"

bool policy_lets_see(const struct call *c, unsigned source, enum item_kind kind, str name);

// The caller may not see what it names, and will hear that there is no such thing; those who watch are told.
void call_hide(struct call *c, unsigned source, enum item_kind kind, str name);

// May this client hear from that server, by the rules as they are now? What a server asks is no end of a call that it
// may finish, but something new. named: the agent that the request named during which it comes; or STR_NONE. tool: the
// tool that it is about; empty: none.
bool policy_lets_hear(const struct call_context *x, const struct session *s, str named, unsigned source, str tool);

// Ends a call that the rules do not allow. tool: STR_NONE: it is about the server.
enum call_result policy_refuse(struct call *c, const struct policy_decision *d, str tool);
