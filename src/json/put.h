// SPDX-License-Identifier: Apache-2.0
// Appends JSON text quickly, for texts that are written for every call. The caller passes constant text with keys,
// punctuation and constant values, which is copied at once. Other code uses json/write.h, which adds commas and escapes
// itself.
#pragma once
#include "base/buf.h"
#include "json/write.h"

// Appends a text of `n` bytes, which the compiler knows: such a copy takes few instructions.
static inline void json_put_literal(struct buf *out, const char *text, size_t n) {
  char *to = buf_room(out, n);
  if (!to) return;
  memcpy(to, text, n);
  out->n += n;
}

// Appends a string literal.
#define JSON_PUT(out, literal) json_put_literal((out), "" literal, sizeof(literal) - 1)

// Appends a string literal, then `id` in quotes. `id` must need no escapes: an id, a hash or a time.
#define JSON_PUT_ID(out, literal, id) json_put_id((out), literal "\"", sizeof(literal), (id))
static inline void json_put_id(struct buf *out, const char *text, size_t n, str id) {
  char *to = buf_room(out, n + id.n + 1);
  if (!to) return;
  memcpy(to, text, n);
  memcpy(to + n, id.p, id.n);
  to[n + id.n] = '"';
  out->n += n + id.n + 1;
}

// Appends a string literal, then `s` as a JSON string, or null if `s` is STR_NONE.
#define JSON_PUT_TEXT(out, literal, s) (JSON_PUT(out, literal), json_put_text((out), (s)))
void json_put_text(struct buf *out, str s);

// Appends a string literal, then the JSON text `s`.
#define JSON_PUT_RAW(out, literal, s) (JSON_PUT(out, literal), buf_str((out), (s)))
