// SPDX-License-Identifier: Apache-2.0
// JSON Pointer (RFC 6901).
#pragma once
#include "base/buf.h"
#include "json/json.h"
#include "json/scan.h"

// The value at a pointer ("" is the root); NULL when it is not there or the pointer is malformed.
struct json *json_pointer_find(struct json *root, str pointer);

// One step of a pointer in text that is not parsed: where the member or element that a token (between two slashes,
// still escaped) names begins. NULL when there is none, the token is malformed, or scan->wrong; *out_count
// is then how many members or elements were looked at.
const char *json_pointer_step(struct json_scan *scan, const char *container, str token, size_t *out_count);

// Appends "/" and the escaped token.
void json_pointer_push(struct buf *out, str token);
