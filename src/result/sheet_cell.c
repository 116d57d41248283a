// SPDX-License-Identifier: Apache-2.0
#include "base/ascii.h"
#include "result/sheet.h"
#include "json/text.h"

// Digits of a number that a double holds exactly, and powers of ten that it does as well.
enum { EXACT_DIGITS = 15, EXACT_POWER = 22 };

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

// What nearly all numbers are: some digits, a point perhaps, and some more. Exact, as both parts are.
static bool simple_number(str s, double *out) {
  static const double powers[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  size_t i = s.n && s.p[0] == '-', digits = 0, behind = 0;
  uint64_t value = 0;
  for (bool point = false; i < s.n; i++) {
    unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
    if (d < 10) {
      value = value * 10 + d;
      behind += point;
      if (++digits > EXACT_DIGITS) return false;
    } else if (s.p[i] == '.' && !point && digits && i + 1 < s.n) {
      point = true;
    } else {
      return false;
    }
  }
  if (!digits) return false;
  *out = (s.p[0] == '-' ? -1.0 : 1.0) * ((double)value / powers[behind]);
  return true;
}

bool text_number(str s, double *out) {
  if (!s.n || (s.p[0] != '-' && !ascii_is_digit(s.p[0]))) return false;
  if (simple_number(s, out)) return true;
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
