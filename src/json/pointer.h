// SPDX-License-Identifier: Apache-2.0
// JSON Pointer (RFC 6901).
#pragma once
#include "base/buf.h"
#include "json/json.h"
#include "json/scan.h"

// Returns the value at a JSON Pointer ("" is the root). Returns NULL if there is no such value, if the pointer is
// malformed, or if it leads into a folded container (json_parse_folding).
struct json *json_pointer_find(struct json *root, str pointer);

// Takes one step of a pointer in unparsed text: returns the start of the member or element that the token names. The
// token is the text between two slashes, still escaped. Returns NULL if there is no such member or element, the token
// is malformed, or scan->wrong is set. Sets *out_count to the number of members or elements read.
const char *json_pointer_step(struct json_scan *scan, const char *container, str token, size_t *out_count);

// Sets *out to a token with its escapes (~0, ~1) decoded. Returns false if the token is malformed. The result is in the
// arena.
bool json_pointer_token(struct arena *a, str token, str *out);

// Appends "/" and the token to a pointer, and escapes the token.
void json_pointer_push(struct buf *out, str token);

// Returns `pointer` followed by "/" and `token`, which the function escapes. The result is in the arena.
str json_pointer_below(struct arena *a, str pointer, str token);
