// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648). Decoding is strict: each byte string has exactly one accepted text.
#pragma once
#include "base/buf.h"

enum base64_form {
  BASE64_STANDARD,  // with + and /, padded with = to a multiple of four
  BASE64_URL,       // with - and _, without padding
};

void base64_encode(str bytes, enum base64_form form, struct buf *out);

// Appends the decoded bytes. False, with nothing appended, for a character outside the alphabet, an impossible length
// or padding, bits set after the last byte, or more bytes than the buffer may hold (out->over).
bool base64_decode(str text, enum base64_form form, struct buf *out);
