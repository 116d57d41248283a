// SPDX-License-Identifier: Apache-2.0
// Appends JSON text whose keys are constants, for texts that are written for every call: a key, its punctuation and
// constant values are one copy. Other code uses json/write.h, which adds commas and escapes itself.
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

// Appends a constant.
#define JSON_PUT(out, literal) json_put_bytes((out), "" literal, sizeof(literal) - 1)

// Appends a constant, then a text in quotes that needs no escapes: an id, a hash, a time.
#define JSON_PUT_ID(out, literal, id) (JSON_PUT(out, literal "\""), json_put_plain((out), (id)))
static inline void json_put_plain(struct buf *out, str s) {
  json_put_bytes(out, s.p, s.n);
  buf_char(out, '"');
}

// Appends a constant, then a text in quotes with escapes, or null for STR_NONE.
#define JSON_PUT_TEXT(out, literal, s) (JSON_PUT(out, literal), json_put_or_null((out), (s)))
static inline void json_put_or_null(struct buf *out, str s) {
  if (s.p) json_escape(out, s);
  else JSON_PUT(out, "null");
}

// Appends a constant, then JSON text.
#define JSON_PUT_RAW(out, literal, s) (JSON_PUT(out, literal), json_put_bytes((out), (s).p, (s).n))
