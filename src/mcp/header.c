// SPDX-License-Identifier: Apache-2.0
#include "mcp/header.h"

#include "base/text/base64.h"
#include "base/text/utf8.h"

#define CODED_START STR("=?base64?")
#define CODED_END STR("?=")

// Returns whether the text looks encoded ("=?base64?…?="). Like the official SDKs of MCP, accepts "=?base64?=" too, in
// which the start and the end share a question mark.
static bool looks_coded(str s) {
  return str_starts(s, CODED_START) && str_ends(s, CODED_END);
}

// Returns whether a header can contain the text unchanged: only printable ASCII, blanks and tabs.
static bool is_plain(str s) {
  size_t i = 0;
  // Checks eight bytes at a time, and stops at a group with a control character, DEL or a byte outside ASCII.
  const uint64_t ones = 0x0101010101010101, tops = 0x80 * ones;
  for (uint64_t x; i + 8 <= s.n; i += 8) {
    memcpy(&x, s.p + i, 8);
    if ((x | (x - 0x20 * ones) | (x + ones)) & tops) break;
  }
  for (; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if (c != '\t' && (c < 0x20 || c > 0x7e)) return false;
  }
  return true;
}

void header_put(struct buf *out, str name, str value) {
  buf_str(out, name);
  buf_str(out, STR(": "));
  // Any other value is encoded: a header does not preserve an empty value, or blanks at the start or end of a value.
  if (value.n && str_trim(value).n == value.n && is_plain(value) && !looks_coded(value)) {
    buf_str(out, value);
  } else {
    buf_str(out, CODED_START);
    base64_encode(value, BASE64_STANDARD, out);
    buf_str(out, CODED_END);
  }
  buf_str(out, STR("\r\n"));
}

static enum header_match compare_coded(str text, str value) {
  struct buf bytes;
  buf_init(&bytes, text.n);
  enum header_match match = HEADER_MALFORMED;
  if (base64_decode(text, BASE64_STANDARD, &bytes) && utf8_valid(buf_view(&bytes)))
    match = str_eq(buf_view(&bytes), value) ? HEADER_SAME : HEADER_DIFFERENT;
  buf_done(&bytes);
  return match;
}

enum header_match header_compare(str header, str value) {
  header = str_trim(header);
  if (!is_plain(header)) return HEADER_MALFORMED;
  if (!looks_coded(header)) return str_eq(header, value) ? HEADER_SAME : HEADER_DIFFERENT;
  str text = str_from(header, CODED_START.n);
  text.n -= text.n < CODED_END.n ? text.n : CODED_END.n;
  return compare_coded(text, value);
}
