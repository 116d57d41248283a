// SPDX-License-Identifier: Apache-2.0
// What a meta-tool's call brings back: the result of a tool, a resource or a prompt as the result of the meta-tool, cut
// to what fits, the rest kept for tool_view. Afterwards the answer is the call's own, whatever becomes of the message
// that it came in.
#pragma once
#include "call/pipeline.h"

const str *call_handles(const struct call *c, size_t *count);  // of what is kept of its result, for call_record
