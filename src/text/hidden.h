// SPDX-License-Identifier: Apache-2.0
// Hidden characters (base/text/plain.h) in JSON messages of servers. The functions remove them from the texts that a
// model reads: the members "text", "title", "description", "message", "statusMessage", "systemPrompt" and "name". Data
// for programs is copied byte for byte: structuredContent, _meta, data (base64), and the arguments of tools.
#pragma once
#include "base/buf.h"

// Returns whether a string of this JSON value may have hidden characters. Fast; may return true for a value without
// hidden characters. The value must have been checked by json_parse and have no surrounding white space.
bool hidden_in_json(str json);

// Appends the value without the hidden characters of these texts. Returns false, with nothing appended, if there are
// none. The value must be as for hidden_in_json.
bool hidden_put_json(struct buf *out, str json);

// Returns the room in bytes that hidden_put_json needs.
size_t hidden_json_max(str json);
