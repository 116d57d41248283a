// SPDX-License-Identifier: Apache-2.0
// Headers of a stateless HTTP request that repeat values of its body (Mcp-Method, Mcp-Name, Mcp-Param-*), so that
// proxies can route without reading the body. A value that a header cannot contain is encoded as "=?base64?…?=".
#pragma once
#include "base/buf.h"

// Writes one line, "Name: value\r\n", with the value encoded if necessary.
void header_put(struct buf *out, str name, str value);

enum header_match { HEADER_SAME, HEADER_DIFFERENT, HEADER_MALFORMED };

// Decodes the value of a header, ignoring surrounding blanks, and compares it with `value`.
enum header_match header_compare(str header, str value);
