// SPDX-License-Identifier: Apache-2.0
// Text of a server that imitates what the gateway says to a model: lines that begin with a mark (mcp/server/session.h),
// handles, calls of tool_view, faults, answers that ask for an approval or report a dry run.
//
// The mark sets the gateway's own lines apart. This finds what a model could still take for them, so that it gets a
// notice in front.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum { LOOKALIKE_NOTICE_TOKENS = 40 };  // at most, with the mark and the end of the line

// Does the text have something of the kind? It may be raw JSON. The mark itself does not count.
bool lookalike(str text, str mark);

// The same for a JSON value, whatever escapes its strings are written with.
bool lookalike_json(const struct json *v, str mark);

// The line that says so, with its end.
void lookalike_put_notice(struct buf *out, str mark);
