// SPDX-License-Identifier: Apache-2.0
#include "base/ascii.h"
#include "result/table/sheet.h"
#include "json/number.h"
#include "json/text.h"

static str json_text(str raw, struct arena *a) {
  struct fault f;
  if (raw.p[0] != '"') return raw;
  if (!memchr(raw.p, '\\', raw.n)) return (str){raw.p + 1, raw.n - 2};
  str text;
  return json_string(json_parse(a, raw, &json_default_limits, &f), a, &text) ? text : raw;
}

str cell_text(const struct cell *c, struct arena *a) {
  if (c->kind == CELL_NONE) return STR_NONE;
  return c->kind == CELL_TEXT ? csv_value(c->raw, a) : json_text(c->raw, a);
}

static bool begins_number(str s) {
  return s.n && (s.p[0] == '-' || ascii_is_digit(s.p[0]));
}

// What is no short number.
static bool long_number(str s, double *out) {
  struct json v = {.p = s.p, .n = (uint32_t)s.n, .type = JSON_NUMBER};
  return json_number_is(s) && json_double(&v, out);
}

bool text_number(str s, double *out) {
  return begins_number(s) && (json_number_short(s, out) || long_number(s, out));
}

// In quotes, or with blanks around it.
static bool field_number(str s, double *out) {
  if (s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"') s = (str){s.p + 1, s.n - 2};
  return text_number(str_trim(s), out);
}

bool cell_number(const struct cell *c, double *out) {
  if (c->kind == CELL_NONE) return false;
  char first = c->raw.p[0];
  if (begins_number(c->raw)) {
    if (json_number_short(c->raw, out)) return true;
    return long_number(c->kind == CELL_TEXT ? str_trim(c->raw) : c->raw, out);
  }
  return c->kind == CELL_TEXT && (first == '"' || (unsigned char)first <= ' ') && field_number(c->raw, out);
}
