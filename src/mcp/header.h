// SPDX-License-Identifier: Apache-2.0
// Values that a stateless request repeats in HTTP headers (Mcp-Method, Mcp-Name, Mcp-Param-*), so that proxies can
// route without reading the body. A value that does not fit a header as it is becomes "=?base64?…?=".
#pragma once
#include "base/buf.h"

// Writes one line, "Name: value\r\n", with the value encoded if necessary.
void header_put(struct buf *out, str name, str value);

enum header_match { HEADER_SAME, HEADER_DIFFERENT, HEADER_MALFORMED };

// Compares a header's decoded value, without surrounding blanks.
enum header_match header_compare(str header, str value);
