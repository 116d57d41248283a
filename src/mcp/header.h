// SPDX-License-Identifier: Apache-2.0
// Values that a stateless request repeats in HTTP headers (Mcp-Method, Mcp-Name, Mcp-Param-*), so that what stands
// between can route without reading the body. What a header cannot hold as it is goes as "=?base64?…?=".
#pragma once
#include "base/buf.h"

// One line, "Name: value\r\n", the value coded if it must be.
void header_put(struct buf *out, str name, str value);

enum header_match { HEADER_SAME, HEADER_DIFFERENT, HEADER_MALFORMED };

// Does a header's value, decoded, say this? Surrounding blanks do not count.
enum header_match header_compare(str header, str value);
