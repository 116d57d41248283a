// SPDX-License-Identifier: Apache-2.0
// Removes hidden characters (base/text/plain.h) from JSON messages of servers. Only strings that a model reads are
// changed: the members "text", "title", "description", "message", "statusMessage", "systemPrompt" and "name". Data for
// programs is copied byte for byte: structuredContent, _meta, data (base64), and the arguments of tools.
#pragma once
#include "base/buf.h"

// Returns whether a string of this JSON value may have hidden characters. This check is fast, but may return true for a
// value without hidden characters. json_parse must have accepted the value; no white space may surround it.
bool hidden_in_json(str json);

// Appends the value without the hidden characters in strings that a model reads. Returns false, with nothing appended,
// if these strings have no hidden characters. json_parse must have accepted the value; no white space may surround it.
bool hidden_put_json(struct buf *out, str json);

// Returns the room in bytes that hidden_put_json needs in its buffer.
size_t hidden_json_max(str json);
