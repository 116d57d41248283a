// SPDX-License-Identifier: Apache-2.0
// JSON Pointer (RFC 6901).
#pragma once
#include "base/buf.h"
#include "json/json.h"

// The value at a pointer ("" is the root); NULL when it is not there or the pointer is malformed.
struct json *json_pointer_find(struct json *root, str pointer);

// Appends "/" and the escaped token.
void json_pointer_push(struct buf *out, str token);
