// SPDX-License-Identifier: Apache-2.0
#include "base/text/visible.h"

#include "base/text/plain.h"
#include "base/text/utf8.h"

// Removes the first character of *rest and returns it. Sets *out_hidden to whether people would not see this character.
static uint32_t next(str text, str *rest, bool *out_hidden) {
  bool hidden = plain_hidden((str){text.p, text.n - rest->n}, *rest) > 0;
  uint32_t c = utf8_next(rest);
  *out_hidden = hidden || c < ' ' || (c >= 0x7f && c < 0xa0);
  return c;
}

void visible_put(str text, struct buf *out) {
  for (str rest = text; rest.n;) {
    str from = rest;
    bool hidden;
    uint32_t c = next(text, &rest, &hidden);
    if (c == '\n') buf_str(out, STR("\\n"));
    else if (c == '\t') buf_str(out, STR("\\t"));
    else if (hidden) buf_printf(out, "\\u{%x}", (unsigned)c);
    else buf_add(out, from.p, from.n - rest.n);
  }
}

bool visible_has_hidden(str text) {
  for (str rest = text; rest.n;) {
    bool hidden;
    uint32_t c = next(text, &rest, &hidden);
    if (hidden && c != '\n' && c != '\t' && c != '\r') return true;
  }
  return false;
}
