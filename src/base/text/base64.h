// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648). Decoding is strict: for each byte string, exactly one text is accepted.
#pragma once
#include "base/buf.h"

enum base64_form {
  BASE64_STANDARD,  // with + and /, padded with = to a multiple of four
  BASE64_URL,       // with - and _, without padding
};

void base64_encode(str bytes, enum base64_form form, struct buf *out);

// Appends the decoded bytes. Returns false and appends nothing if the text has a character outside the alphabet, an
// impossible length or padding, or bits set after the last byte, or if the bytes exceed the buffer's maximum
// (out->over).
bool base64_decode(str text, enum base64_form form, struct buf *out);
