// SPDX-License-Identifier: Apache-2.0
// Detects text of servers that imitates the gateway: lines that start with a mark (mcp/server/session.h), handles,
// calls of tool_view, faults, and answers that ask for an approval or report a dry run.
//
// The gateway's lines are known by their mark. A model could still mistake other text for such lines. Therefore the
// gateway puts a notice in front of a text that imitates it.
#pragma once
#include "base/buf.h"
#include "json/json.h"

enum { LOOKALIKE_NOTICE_TOKENS = 40 };  // maximum tokens of the notice, including the mark and the line end

// Returns whether the text, which may be raw JSON, imitates the gateway. `mark`, the gateway's own mark, does not count
// as an imitation; any other mark does.
bool lookalike(str text, str mark);

// Like lookalike, for a JSON value, whose escapes are decoded.
bool lookalike_json(const struct json *v, str mark);

// Writes the notice that a server's text imitates the gateway, as a line with its line end.
void lookalike_put_notice(struct buf *out, str mark);
