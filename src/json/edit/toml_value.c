// SPDX-License-Identifier: Apache-2.0
// Parses TOML values: the four kinds of strings, numbers, dates, arrays, inline tables.
#include "base/ascii.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "json/edit/toml_impl.h"
#include "json/write.h"

// ---- texts

static bool read_code_point(struct toml_reader *r, struct buf *out, int digits) {
  uint32_t code = 0;
  for (int i = 0; i < digits; i++, r->at++) {
    int digit = ascii_hex(toml_peek(r));
    if (digit < 0) return toml_fail(r, "expected a hexadecimal digit");
    code = code << 4 | (uint32_t)digit;
  }
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return toml_fail(r, "the escape sequence is not a valid Unicode character");
  char bytes[4];
  buf_add(out, bytes, utf8_put(code, bytes));
  return true;
}

static bool read_escape(struct toml_reader *r, struct buf *out) {
  static const char letters[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
  char c = toml_peek(r);
  const char *letter = c ? strchr(letters, c) : NULL;
  if (!letter && c != 'u' && c != 'U') return toml_fail(r, "unknown escape sequence");
  r->at++;
  if (!letter) return read_code_point(r, out, c == 'u' ? 4 : 8);
  buf_char(out, values[letter - letters]);
  return true;
}

static bool is_control(char c) {
  return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

static bool read_short(struct toml_reader *r, char quote, struct buf *out) {
  for (r->at++; toml_peek(r) != quote;) {
    char c = toml_peek(r);
    if (r->at == r->text.n || c == '\n') return toml_fail(r, "the string has no closing quote on its line");
    if (is_control(c)) return toml_fail(r, "a control character in a string must be escaped");
    r->at++;
    if (c != '\\' || quote == '\'') buf_char(out, c);
    else if (!read_escape(r, out)) return false;
  }
  r->at++;
  return true;
}

// Called after a backslash in a string. If only blanks follow on this line, skips all white space up to the next
// character. Otherwise returns false.
static bool skip_line_end(struct toml_reader *r) {
  size_t before = r->at;
  toml_skip_blanks(r);
  if (!toml_skip_newline(r)) {
    r->at = before;
    return false;
  }
  do toml_skip_blanks(r);
  while (toml_skip_newline(r));
  return true;
}

// Returns whether a string in triple quotes ends here. Up to two more quotes before the closing three belong to the
// string.
static bool is_end(struct toml_reader *r, char quote, struct buf *out) {
  size_t n = 0;
  while (r->at + n < r->text.n && r->text.p[r->at + n] == quote) n++;
  if (n > 5) n = 5;
  for (size_t i = 3; i < n; i++) buf_char(out, quote);
  if (n < 3) return false;
  r->at += n;
  return true;
}

static bool read_long(struct toml_reader *r, char quote, struct buf *out) {
  r->at += 3;
  toml_skip_newline(r);
  while (!is_end(r, quote, out)) {
    char c = toml_peek(r);
    if (r->at == r->text.n) return toml_fail(r, "the string has no closing quotes");
    if (toml_skip_newline(r)) {
      buf_char(out, '\n');
      continue;
    }
    if (is_control(c)) return toml_fail(r, "a control character in a string must be escaped");
    r->at++;
    if (c != '\\' || quote == '\'') buf_char(out, c);
    else if (!skip_line_end(r) && !read_escape(r, out)) return false;
  }
  return true;
}

static bool read_text(struct toml_reader *r, bool may_be_long, str *out) {
  char quote = toml_peek(r);
  char three[] = {quote, quote, quote};
  bool is_long = may_be_long && str_starts(str_from(r->text, r->at), (str){three, 3});
  struct buf b;
  buf_init(&b, r->text.n + 1);
  bool ok = is_long ? read_long(r, quote, &b) : read_short(r, quote, &b);
  if (ok) *out = arena_str(r->arena, buf_view(&b));
  buf_done(&b);
  return ok;
}

bool toml_read_short_text(struct toml_reader *r, str *out) {
  return read_text(r, false, out);
}

// ---- numbers, dates, words

// Returns whether `s` consists of digits, with single underscores between them.
static bool are_digits(str s, int base) {
  for (size_t i = 0; i < s.n; i++) {
    int digit = ascii_hex(s.p[i]);
    bool between = s.p[i] == '_' && i && i + 1 < s.n && s.p[i - 1] != '_';
    if (!between && (digit < 0 || digit >= base)) return false;
  }
  return s.n > 0;
}

static void put_digits(struct buf *out, str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] != '_') buf_char(out, s.p[i]);
}

static bool put_based(struct buf *out, str s) {
  static const struct {
    const char *prefix;
    int base;
  } bases[] = {{"0x", 16}, {"0o", 8}, {"0b", 2}};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    str digits = str_from(s, 2);
    if (!str_starts(s, str_of(bases[i].prefix)) || !are_digits(digits, bases[i].base)) continue;
    uint64_t value = 0;
    for (size_t k = 0; k < digits.n; k++) {
      if (digits.p[k] == '_') continue;
      if (value > (uint64_t)INT64_MAX / (unsigned)bases[i].base) return false;
      value = value * (unsigned)bases[i].base + (unsigned)ascii_hex(digits.p[k]);
    }
    buf_u64(out, value);
    return value <= INT64_MAX;
  }
  return false;
}

// Writes a decimal number (sign, digits, fraction, exponent) in the syntax of JSON.
static bool put_decimal(struct buf *out, str s) {
  str whole, rest = STR(""), exponent = STR_NONE, fraction = STR_NONE;
  if (s.n && (s.p[0] == '+' || s.p[0] == '-')) {
    if (s.p[0] == '-') buf_char(out, '-');
    s = str_from(s, 1);
  }
  if (!str_cut(s, 'e', &whole, &rest)) str_cut(s, 'E', &whole, &rest);
  if (whole.n != s.n) exponent = rest;
  str all = whole;
  if (str_cut(all, '.', &whole, &fraction) && !are_digits(fraction, 10)) return false;
  if (!are_digits(whole, 10) || (whole.n > 1 && whole.p[0] == '0')) return false;
  put_digits(out, whole);
  if (whole.n != all.n) buf_char(out, '.');
  if (whole.n != all.n) put_digits(out, fraction);
  if (!exponent.p) return true;
  buf_char(out, 'e');
  if (exponent.n && (exponent.p[0] == '+' || exponent.p[0] == '-')) {
    buf_char(out, exponent.p[0]);
    exponent = str_from(exponent, 1);
  }
  put_digits(out, exponent);
  return are_digits(exponent, 10);
}

// Returns whether `s` has the form of a date, a time, or both: 1979-05-27T07:32:00. Does not check the calendar.
static bool is_date(str s) {
  bool date = s.n >= 10 && ascii_is_digit(s.p[0]) && s.p[4] == '-' && s.p[7] == '-';
  bool time = s.n >= 8 && ascii_is_digit(s.p[0]) && s.p[2] == ':' && s.p[5] == ':';
  for (size_t i = 0; i < s.n; i++)
    if (!ascii_is_digit(s.p[i]) && !strchr("-:.+TtZz ", s.p[i])) return false;
  return date || time;
}

static str take_word(struct toml_reader *r) {
  size_t from = r->at;
  while (r->at < r->text.n && !strchr(" \t\r\n,]}#=", r->text.p[r->at])) r->at++;
  str word = {r->text.p + from, r->at - from};
  // A blank may separate a date and a time.
  str rest = str_from(r->text, r->at);
  if (word.n != 10 || !is_date(word) || rest.n < 4 || rest.p[0] != ' ' || !ascii_is_digit(rest.p[1])) return word;
  for (r->at++; r->at < r->text.n && !strchr(" \t\r\n,]}#=", r->text.p[r->at]);) r->at++;
  return (str){r->text.p + from, r->at - from};
}

static bool read_word(struct toml_reader *r, struct toml_node *out) {
  static const char *const endless[] = {"inf", "+inf", "-inf", "nan", "+nan", "-nan"};
  size_t from = r->at;
  str word = take_word(r);
  struct buf b;
  buf_init(&b, r->text.n + 64);
  bool ok = str_eq(word, STR("true")) || str_eq(word, STR("false"));
  if (ok) buf_str(&b, word);
  for (size_t i = 0; !ok && i < sizeof endless / sizeof *endless; i++) {
    ok = str_eq(word, str_of(endless[i]));
    if (ok) json_escape(&b, word);
  }
  if (!ok && is_date(word)) {
    json_escape(&b, word);
    ok = true;
  }
  if (!ok)
    ok = word.n > 2 && word.p[0] == '0' && ascii_is_letter(word.p[1]) && word.p[1] != 'e' && word.p[1] != 'E'
             ? put_based(&b, word)
             : put_decimal(&b, word);
  out->json = arena_str(r->arena, buf_view(&b));
  buf_done(&b);
  r->at = ok ? r->at : from;
  return ok || toml_fail(r, "expected a value: a string in quotes, a number, true, false, a date, an array or a table");
}

// ---- lists and inline tables

// Skips white space, line breaks and comments.
static bool skip_lines(struct toml_reader *r) {
  do {
    toml_skip_blanks(r);
    if (!toml_skip_comment(r)) return false;
  } while (toml_skip_newline(r));
  return true;
}

static bool read_list(struct toml_reader *r, struct toml_node *out, unsigned depth) {
  out->kind = TOML_LIST;
  r->at++;
  for (;;) {
    if (!skip_lines(r)) return false;
    if (toml_peek(r) == ']') break;
    if (!toml_read_value(r, toml_add(r, out, STR(""), TOML_SCALAR), depth + 1) || !skip_lines(r)) return false;
    if (toml_peek(r) == ']') break;
    if (toml_peek(r) != ',') return toml_fail(r, "expected ',' or ']'");
    r->at++;
  }
  r->at++;
  return true;
}

static void close_all(struct toml_node *table) {
  table->closed = true;
  for (struct toml_node *it = table->first; it; it = it->next)
    if (it->kind == TOML_TABLE) close_all(it);
}

static bool read_inline(struct toml_reader *r, struct toml_node *out, unsigned depth) {
  struct toml_path *path = ARENA_NEW(r->arena, struct toml_path);
  out->kind = TOML_TABLE;
  r->at++;
  toml_skip_blanks(r);
  while (toml_peek(r) != '}') {
    if (!toml_read_pair(r, out, path, depth + 1)) return false;
    toml_skip_blanks(r);
    if (toml_peek(r) == '}') break;
    if (toml_peek(r) != ',') return toml_fail(r, "expected ',' or '}'");
    r->at++;
    toml_skip_blanks(r);
    if (toml_peek(r) == '}') return toml_fail(r, "expected a key after ','");
  }
  r->at++;
  close_all(out);
  return true;
}

bool toml_read_value(struct toml_reader *r, struct toml_node *out, unsigned depth) {
  str text;
  if (depth >= TOML_DEEPEST) return toml_fail(r, "the value is nested too deeply");
  switch (toml_peek(r)) {
  case '[': return read_list(r, out, depth);
  case '{': return read_inline(r, out, depth);
  case '"':
  case '\'':
    if (!read_text(r, true, &text)) return false;
    out->json = json_escaped(r->arena, text);
    return true;
  default: return read_word(r, out);
  }
}
