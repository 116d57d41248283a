// SPDX-License-Identifier: Apache-2.0
#include "result/table/cell.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "result/summary/brief.h"
#include "result/table/csv.h"
#include "json/number.h"
#include "json/text.h"

str cell_text(const struct cell *c, struct arena *a) {
  str raw = c->raw, text;
  struct fault f;
  if (c->kind == CELL_NONE) return STR_NONE;
  if (c->kind == CELL_TEXT) return csv_value(raw, a);
  if (raw.p[0] != '"') return raw;
  if (!memchr(raw.p, '\\', raw.n)) return (str){raw.p + 1, raw.n - 2};
  return json_string(json_parse(a, raw, &json_default_limits, &f), a, &text) ? text : raw;
}

// ---- numbers

static bool begins_number(str s) {
  return s.n && (s.p[0] == '-' || ascii_is_digit(s.p[0]));
}

// Reads a number that json_number_short cannot read. This function is slower.
static bool long_number(str s, double *out) {
  struct json v = {.p = s.p, .n = (uint32_t)s.n, .type = JSON_NUMBER};
  return json_number_is(s) && json_double(&v, out);
}

bool text_number(str s, double *out) {
  return begins_number(s) && (json_number_short(s, out) || long_number(s, out));
}

bool cell_number(const struct cell *c, double *out) {
  str s = c->raw;
  if (c->kind == CELL_NONE) return false;
  if (begins_number(s)) {
    if (json_number_short(s, out)) return true;
    return long_number(c->kind == CELL_TEXT ? str_trim(s) : s, out);
  }
  if (c->kind != CELL_TEXT || (s.p[0] != '"' && (unsigned char)s.p[0] > ' ')) return false;
  if (s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"') s = (str){s.p + 1, s.n - 2};
  return text_number(str_trim(s), out);
}

// ---- guessing a type from the form of a value

static bool is_digits(str s) {
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_digit(s.p[i])) return false;
  return s.n > 0;
}

static enum cell_type text_type(str s) {
  enum { NUMBER_BYTES = 30, DATE_BYTES = 40 };
  if (!s.n || str_eq_nocase(s, STR("null")) || str_eq(s, STR("<none>")) || str_eq(s, STR("-")) || str_eq(s, STR("NaN")))
    return TYPE_EMPTY;
  if (str_eq_nocase(s, STR("true")) || str_eq_nocase(s, STR("false"))) return TYPE_BOOLEAN;
  if (s.n >= 10 && s.n <= DATE_BYTES && is_digits((str){s.p, 4}) && (s.p[4] == '-' || s.p[4] == '/') &&
      is_digits((str){s.p + 5, 2}) && s.p[7] == s.p[4] && is_digits((str){s.p + 8, 2}))
    return TYPE_DATE;
  if (str_starts(s, STR("http://")) || str_starts(s, STR("https://"))) return TYPE_LINK;
  if (s.n > NUMBER_BYTES) return TYPE_TEXT;
  if (*s.p == '-' || *s.p == '+') s = str_from(s, 1);
  str whole, rest;
  if (!str_cut(s, '.', &whole, &rest)) return is_digits(s) ? TYPE_INTEGER : TYPE_TEXT;
  return is_digits(whole) && is_digits(rest) ? TYPE_NUMBER : TYPE_TEXT;
}

bool text_looks_numeric(str s) {
  size_t digits = 0;
  for (size_t i = 0; i < s.n; i++) {
    if (ascii_is_digit(s.p[i])) digits++;
    else if (!s.p[i] || !strchr("+-.,eE%$", s.p[i])) return false;
  }
  return digits > 0;
}

static bool is_json_string(const struct cell *c) {
  return c->kind == CELL_JSON && c->raw.n && *c->raw.p == '"';
}

str cell_inside(const struct cell *c) {
  str s = c->kind == CELL_TEXT ? str_trim(c->raw) : c->raw;
  if (is_json_string(c)) return s.n >= 2 ? (str){s.p + 1, s.n - 2} : STR("");
  bool quoted = c->kind == CELL_TEXT && s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"';
  return quoted ? (str){s.p + 1, s.n - 2} : s;
}

enum cell_type cell_type(const struct cell *c) {
  str inside = cell_inside(c);
  if (c->kind != CELL_JSON) return text_type(inside);
  ASSERT(c->raw.n > 0);
  if (*c->raw.p == '[') return TYPE_LIST;
  if (*c->raw.p == '{') return TYPE_OBJECT;
  enum cell_type type = text_type(inside);
  if (!is_json_string(c) || type >= TYPE_DATE) return type;
  return inside.n ? TYPE_TEXT : TYPE_EMPTY;
}

void cell_put_short(struct buf *out, const struct cell *c, size_t chars) {
  if (is_json_string(c)) brief_json_cell(out, cell_inside(c), chars);
  else brief_cell(out, cell_inside(c), chars);
}
