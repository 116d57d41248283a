// SPDX-License-Identifier: Apache-2.0
// Appends JSON text quickly, for texts that are written for every call. The caller passes constant text with keys,
// punctuation and constant values, which is copied at once. Other code uses json/write.h, which adds commas and escapes
// itself.
#pragma once
#include "base/buf.h"
#include "json/write.h"

static inline void json_put_bytes(struct buf *out, const char *p, size_t n) {
  if (!n) return;
  char *to = !out->over && n <= out->cap - out->n ? out->p + out->n : buf_room(out, n);
  if (!to) return;
  memcpy(to, p, n);
  out->n += n;
}

// Appends a string literal.
#define JSON_PUT(out, literal) json_put_bytes((out), "" literal, sizeof(literal) - 1)

// Appends a string literal, then `id` in quotes. `id` must need no escapes: an id, a hash or a time.
#define JSON_PUT_ID(out, literal, id) (JSON_PUT(out, literal "\""), json_put_plain((out), (id)))
static inline void json_put_plain(struct buf *out, str s) {
  json_put_bytes(out, s.p, s.n);
  buf_char(out, '"');
}

// Appends a string literal, then `s` as a JSON string, or null if `s` is STR_NONE.
#define JSON_PUT_TEXT(out, literal, s) (JSON_PUT(out, literal), json_put_or_null((out), (s)))
static inline void json_put_or_null(struct buf *out, str s) {
  if (s.p) json_escape(out, s);
  else JSON_PUT(out, "null");
}

// Appends a string literal, then the JSON text `s`.
#define JSON_PUT_RAW(out, literal, s) (JSON_PUT(out, literal), json_put_bytes((out), (s).p, (s).n))
