// SPDX-License-Identifier: Apache-2.0
#include "base/ascii.h"
#include "result/sheet.h"
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

bool text_number(str s, double *out) {
  if (!s.n || (s.p[0] != '-' && !ascii_is_digit(s.p[0]))) return false;
  if (json_number_short(s, out)) return true;
  struct json_scan scan = json_scan_strict(s);
  const char *behind = json_scan_skip(&scan, s.p);
  struct json v = {.p = s.p, .n = (uint32_t)s.n, .type = JSON_NUMBER};
  return behind == s.p + s.n && json_double(&v, out);
}

bool cell_number(const struct cell *c, double *out) {
  if (c->kind == CELL_NONE) return false;
  str s = c->raw;
  if (c->kind == CELL_TEXT && s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"') s = (str){s.p + 1, s.n - 2};
  return text_number(c->kind == CELL_TEXT ? str_trim(s) : s, out);
}
