// SPDX-License-Identifier: Apache-2.0
// Detects server text that imitates the gateway: lines that start with a mark (mcp/server/session.h),
// handles, calls of tool_view, faults, answers that ask for an approval or report a dry run.
//
// The mark distinguishes the gateway's lines. Server text that a model could still mistake for such lines gets a notice
// in front.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum { LOOKALIKE_NOTICE_TOKENS = 40 };  // maximum, including the mark and the line end

// Returns whether the text, which may be raw JSON, imitates the gateway. `mark` itself does not count as an imitation.
bool lookalike(str text, str mark);

// The same for a JSON value, with its escapes decoded.
bool lookalike_json(const struct json *v, str mark);

// Writes the notice as a line, including the line end.
void lookalike_put_notice(struct buf *out, str mark);
