// SPDX-License-Identifier: Apache-2.0
// What was probably meant by a file that cannot be read. Parsers say what they did not expect, which helps those who
// know the grammar.
#include "app/config/config_load.h"
#include "base/ascii.h"
#include "base/text/utf8.h"

static bool take_number(str *s, str before, uint64_t *out) {
  if (!str_starts(*s, before)) return false;
  str rest = str_from(*s, before.n);
  size_t n = 0;
  while (n < rest.n && ascii_is_digit(rest.p[n])) n++;
  *s = str_from(rest, n);
  return str_to_u64((str){rest.p, n}, out);
}

// The offset of "line N, column N", in characters. False: it is no such place, or outside of the text.
static bool find_place(str text, str path, size_t *out) {
  uint64_t line, column;
  size_t at = 0;
  if (!take_number(&path, STR("line "), &line) || !take_number(&path, STR(", column "), &column)) return false;
  for (; line > 1 && at < text.n; at++) line -= text.p[at] == '\n';
  for (; column > 1 && at < text.n; column--) {
    do at++;
    while (at < text.n && utf8_follows(text.p[at]));
  }
  *out = at;
  return at < text.n;
}

// The last character before it that is no white space; 0: none.
static char before(str text, size_t at) {
  while (at && strchr(" \t\r\n", text.p[at - 1])) at--;
  return (char)(at ? text.p[at - 1] : 0);
}

static const char *json_hint(str text, size_t at, const struct fault *f) {
  str rest = str_from(text, at);
  char c = rest.p[0], last = before(text, at);
  if (c == '#') return "; this begins a comment, and JSON has none of this kind: write // instead";
  if (str_starts(rest, STR("/*"))) return "; this comment does not end";
  if (c == '\'') return "; JSON has double quotes only";
  if (ascii_is_letter(c) && (last == '{' || last == ',')) return "; in JSON every key is in double quotes";
  if (c == '"' && strstr(f->message, "',' or")) return "; is there a comma missing before it?";
  return "";
}

static const char *yaml_hint(str text, size_t at, const struct fault *f) {
  if (text.p[at] == '\t') return "; this is a tab: YAML is indented with blanks";
  if (text.p[at] && strchr("@`%", text.p[at])) return "; a text that begins so needs quotes";
  if (strstr(f->message, "mapping values are not allowed")) return "; a text with \": \" in it needs quotes";
  return "";
}

const char *config_syntax_hint(str text, bool yaml, const struct fault *f) {
  size_t at;
  if (str_starts(text, STR("\xff\xfe")) || str_starts(text, STR("\xfe\xff")))
    return "; this is UTF-16: save it as UTF-8";
  if (!find_place(text, str_of(f->path), &at)) return "";
  return yaml ? yaml_hint(text, at, f) : json_hint(text, at, f);
}
