// SPDX-License-Identifier: Apache-2.0
#include "json/canon.h"

#include <stdlib.h>

#include "base/assert.h"
#include "json/decimal.h"
#include "json/text.h"
#include "json/write.h"

enum { FEW = 8 };

struct canon {
  struct buf *out;
  struct arena scratch;
  enum json_canon form;
  struct fault *fault;
};

struct member {
  str key;  // unescaped
  const struct json *value;
};

static bool write_value(struct canon *c, const struct json *v);

// Returns the rank of a UTF-8 byte if strings are sorted by UTF-16 code units. In that order, characters above U+FFFF
// (first bytes f0 to f4) come before U+E000 to U+FFFF (first bytes ee and ef).
static int utf16_rank(unsigned char c) {
  if (c >= 0xf0) return c - 2;
  return c >= 0xee ? c + 5 : c;
}

static int by_utf16(const void *pa, const void *pb) {
  str a = ((const struct member *)pa)->key, b = ((const struct member *)pb)->key;
  for (size_t i = 0; i < a.n && i < b.n; i++)
    if (a.p[i] != b.p[i]) return utf16_rank((unsigned char)a.p[i]) - utf16_rank((unsigned char)b.p[i]);
  return (a.n > b.n) - (a.n < b.n);
}

// Orders keys by code point, which is also the order of their UTF-8 bytes.
static int by_code_point(const void *a, const void *b) {
  return str_cmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

// Returns the members in the order of their keys. Uses `few` for at most FEW members, which needs no memory.
static struct member *sorted_members(struct canon *c, const struct json *object, struct member few[FEW]) {
  int (*compare)(const void *, const void *) = c->form == JSON_CANON_JCS ? by_utf16 : by_code_point;
  struct member *members = few;
  size_t n = 0;
  if (object->count > FEW) members = ARENA_ARRAY(&c->scratch, struct member, object->count);
  JSON_EACH(m, object) {
    struct member own = {json_key(m, &c->scratch), m};
    size_t at = n++;
    for (; members == few && at && compare(&few[at - 1], &own) > 0; at--) few[at] = few[at - 1];
    members[at] = own;
  }
  ASSERT(n == object->count);
  if (members != few) qsort(members, n, sizeof *members, compare);
  return members;
}

// Writes a string with \uXXXX for characters above ASCII. `text` is the text between the quotes of the JSON string,
// still escaped.
static void write_ascii_string(struct buf *out, str text) {
  buf_char(out, '"');
  while (text.n) json_text_put_ascii(out, json_text_next(&text));
  buf_char(out, '"');
}

static void write_string(struct canon *c, const struct json *v) {
  str plain;
  if (c->form == JSON_CANON_PYTHON) write_ascii_string(c->out, (str){v->p + 1, v->n - 2});
  else if (json_string(v, &c->scratch, &plain)) json_escape(c->out, plain);
}

static void write_key(struct canon *c, const struct member *m) {
  if (c->form == JSON_CANON_PYTHON) write_ascii_string(c->out, (str){m->value->key, m->value->key_n});
  else json_escape(c->out, m->key);
  buf_char(c->out, ':');
}

static bool is_integer(str number) {
  for (size_t i = 0; i < number.n; i++)
    if (number.p[i] == '.' || number.p[i] == 'e' || number.p[i] == 'E') return false;
  return true;
}

static bool write_number(struct canon *c, const struct json *v) {
  str text = json_span(v);
  if (c->form == JSON_CANON_EXACT) {
    buf_str(c->out, text);
    return true;
  }
  if (c->form == JSON_CANON_PYTHON && is_integer(text)) {
    buf_str(c->out, str_eq(text, STR("-0")) ? STR("0") : text);
    return true;
  }
  double d;
  if (!json_double(v, &d)) {
    if (text.n > FAULT_TEXT) text.n = FAULT_TEXT;
    fault_set(c->fault, FAULT_INVALID, "the number %.*s is too large for a double", STR_ARG(text));
    return false;
  }
  if (c->form == JSON_CANON_JCS) json_decimal_ecmascript(c->out, d);
  else json_decimal_python(c->out, d);
  return true;
}

static bool write_array(struct canon *c, const struct json *array) {
  buf_char(c->out, '[');
  JSON_EACH(e, array) {
    if (e != array->child) buf_char(c->out, ',');
    if (!write_value(c, e)) return false;
  }
  buf_char(c->out, ']');
  return true;
}

static bool write_object(struct canon *c, const struct json *object) {
  buf_char(c->out, '{');
  struct member few[FEW], *members = sorted_members(c, object, few);
  for (size_t i = 0; i < object->count; i++) {
    if (i) buf_char(c->out, ',');
    write_key(c, &members[i]);
    if (!write_value(c, members[i].value)) return false;
  }
  buf_char(c->out, '}');
  return true;
}

static bool write_value(struct canon *c, const struct json *v) {
  switch ((enum json_type)v->type) {
  case JSON_NUMBER: return write_number(c, v);
  case JSON_ARRAY: return write_array(c, v);
  case JSON_OBJECT: return write_object(c, v);
  case JSON_STRING: write_string(c, v); return true;
  case JSON_NULL:
  case JSON_FALSE:
  case JSON_TRUE: buf_str(c->out, json_span(v)); return true;
  }
  return true;
}

bool json_canon(struct buf *out, const struct json *v, enum json_canon form, struct fault *f) {
  ASSERT(v && form <= JSON_CANON_EXACT);
  struct canon c = {.out = out, .form = form, .fault = f};
  arena_init(&c.scratch);
  bool good = write_value(&c, v);
  arena_done(&c.scratch);
  return good;
}
