// SPDX-License-Identifier: Apache-2.0
// Hidden characters (base/text/plain.h) in JSON messages of servers. They are removed from the texts that a model
// reads: members "text", "title", "description", "message", "statusMessage", "systemPrompt" and "name". Data for
// programs is copied byte for byte: structuredContent, _meta, data (base64), and the arguments of tools.
#pragma once
#include "base/buf.h"

// Returns whether a string of this JSON value may have hidden characters. Fast; also true for a few values without any.
// The value was checked by json_parse and has no surrounding white space.
bool hidden_in_json(str json);

// Appends the value without the hidden characters of these texts. Returns false, with nothing appended, if it has none.
// The value was checked as above.
bool hidden_put_json(struct buf *out, str json);

// Returns the bytes of room that hidden_put_json needs.
size_t hidden_json_max(str json);
