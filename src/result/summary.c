// SPDX-License-Identifier: Apache-2.0
#include "result/summary.h"

#include "base/utf8.h"
#include "result/measure.h"
#include "text/tokens.h"

// Facts are looked for at the beginning; a text that is longer has them there, or nobody wrote it to be read.
enum { FACTS_BYTES = 1 << 20 };

// The most that the lines of structured content take together. No budget shows more.
enum { LINES_BYTES = 64 << 10 };

static bool is_short(str s) {
  size_t bytes;
  return s.n < 4 * SUMMARY_FACT_CHARS && measure_chars(s, SUMMARY_FACT_CHARS, &bytes) < SUMMARY_FACT_CHARS;
}

static bool is_one_line(str s) {
  return !memchr(s.p, '\n', s.n) && !memchr(s.p, '\r', s.n);
}

// "key: value", when that is short: strings without quotes, everything else as JSON.
static bool short_member(const struct json *m, struct arena *a, str *out) {
  str value = json_span(m);
  if (value.n >= 12 * SUMMARY_FACT_CHARS) return false;  // no escape is longer than 12 bytes for a character
  json_string(m, a, &value);
  str line = arena_printf(a, "%.*s: %.*s", STR_ARG(json_key(m, a)), STR_ARG(value));
  if (!is_short(line) || !is_one_line(line)) return false;
  *out = line;
  return true;
}

static str long_member(const struct json *m, struct arena *a) {
  str key = summary_line(json_key(m, a), SUMMARY_FACT_CHARS, a);
  if (json_is(m, JSON_ARRAY)) return arena_printf(a, "%.*s: array of %u, %u bytes", STR_ARG(key), m->count, m->n);
  if (json_is(m, JSON_OBJECT)) return arena_printf(a, "%.*s: object of %u, %u bytes", STR_ARG(key), m->count, m->n);
  return arena_printf(a, "%.*s: %u bytes", STR_ARG(key), m->n);
}

static str member_lines(const struct json *object, struct arena *a) {
  struct buf lines;
  buf_init(&lines, LINES_BYTES + 4 * SUMMARY_FACT_CHARS + 64);
  for (const struct json *m = object->child; m && lines.n < LINES_BYTES; m = m->next) {
    str line;
    if (lines.n) buf_char(&lines, '\n');
    buf_str(&lines, short_member(m, a, &line) ? line : long_member(m, a));
  }
  str text = arena_str(a, buf_view(&lines));
  buf_done(&lines);
  return text;
}

str summary_text(const struct json *result, const struct parts *parts, struct arena *a) {
  if (parts->text.n) return parts->text;
  if (parts->structured && parts->structured->child && json_is(parts->structured, JSON_OBJECT))
    return member_lines(parts->structured, a);
  if (parts->structured) return json_span(parts->structured);
  return parts->unusual ? json_span(json_get(result, STR("content"))) : STR("(no content)");
}

struct facts {
  str *list;
  size_t count, max, tokens;
};

// False when there is no room for more.
static bool add_fact(struct facts *f, str fact) {
  if (f->count == f->max || !tokens_fit(fact, f->tokens)) return false;
  f->tokens -= tokens_count(fact);
  f->list[f->count++] = fact;
  return true;
}

static bool add_lines(struct facts *f, str text) {
  str rest = utf8_cut(text, FACTS_BYTES);
  while (rest.n) {
    str line = str_trim(measure_next_line(&rest));
    if (line.n && memchr(line.p, ':', line.n) && is_short(line) && !add_fact(f, line)) return false;
  }
  return true;
}

size_t summary_facts(const struct parts *parts, bool structured_too, size_t tokens, struct arena *a, str *out,
                     size_t max) {
  struct facts f = {.list = out, .max = max, .tokens = tokens};
  bool more = !parts->text.n || add_lines(&f, parts->text);
  if (!more || !structured_too || !json_is(parts->structured, JSON_OBJECT)) return f.count;
  JSON_EACH(m, parts->structured) {
    str line;
    if (short_member(m, a, &line) && !add_fact(&f, line)) break;
  }
  return f.count;
}

str summary_line(str text, size_t max, struct arena *a) {
  str first = utf8_cut(text, max);
  char *line = arena_alloc(a, first.n + STR("…").n);
  if (first.n) memcpy(line, first.p, first.n);
  str_mask_controls(line, first.n);
  if (first.n == text.n) return (str){line, first.n};
  memcpy(line + first.n, "…", STR("…").n);
  return (str){line, first.n + STR("…").n};
}
