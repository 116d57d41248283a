// SPDX-License-Identifier: Apache-2.0
// The meta-tool approval_status, and tool_execute with a request_id: the state of a request for approval or, after the
// approval, the outcome of its call. A request of another caller does not exist. The meta-tool can be called in every
// mode if there is a governance file. It is listed in modes without tool_execute if some call may need approval.
#pragma once
#include "surface/meta/meta_tools.h"

#define APPROVAL_STATUS STR("approval_status")

meta_tool meta_approval_status;

// Answers a request with the state or the outcome of a request for approval.
void meta_redeem(struct surface *d, struct request *r, str id);

// Returns whether the request calls approval_status, and its client may do so.
bool meta_is_approval_status(const struct surface *d, const struct request *r);

bool meta_lists_approval_status(const struct surface *d);  // returns whether modes without tool_execute list it

// Writes the definition of approval_status for a list of tools, after a comma if `comma` is set. Writes nothing if this
// client does not need the meta-tool.
void meta_put_approval_status(struct surface *d, const struct session *s, bool comma, struct buf *out);
