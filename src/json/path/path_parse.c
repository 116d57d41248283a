// SPDX-License-Identifier: Apache-2.0
// Parses queries: segments, selectors and strings. Filters are parsed in path_parse_filter.c.
#include "base/text/utf8.h"
#include "json/path/path_impl.h"
#include "json/text.h"

// RFC 9535 limits indexes to the integers that every JSON implementation represents exactly.
#define INDEX_MAX ((int64_t)9007199254740991)

// ---- errors and characters ----

static size_t column(const struct path_parser *q, size_t at) {
  size_t count = 1;
  for (size_t i = 0; i < at; i++) count += ((unsigned char)q->text.p[i] & 0xc0) != 0x80;
  return count;
}

str path_column(const struct path_parser *q, size_t at) {
  return arena_printf(q->a, "column %zu", column(q, at));
}

bool path_refuse(struct path_parser *q, size_t at, const char *what) {
  fault_set(q->f, FAULT_INVALID, "column %zu: %s", column(q, at), what);
  fault_set_path(q->f, path_column(q, at));
  return false;
}

bool path_expect(struct path_parser *q, const char *what) {
  str rest = str_from(q->text, q->at);
  size_t n = utf8_char(rest.p, rest.n), at = column(q, q->at);
  if (n) fault_set(q->f, FAULT_INVALID, "column %zu: %s, not '%.*s'", at, what, (int)n, rest.p);
  else fault_set(q->f, FAULT_INVALID, "column %zu: %s, but the query ends", at, what);
  fault_set_path(q->f, path_column(q, q->at));
  return false;
}

int path_peek(const struct path_parser *q) {
  return q->at < q->text.n ? (unsigned char)q->text.p[q->at] : -1;
}

bool path_take(struct path_parser *q, char c) {
  if (path_peek(q) != (unsigned char)c) return false;
  q->at++;
  return true;
}

void path_skip_blanks(struct path_parser *q) {
  for (int c = path_peek(q); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = path_peek(q)) q->at++;
}

bool path_enter(struct path_parser *q) {
  if (++q->depth <= JSON_PATH_DEPTH_MAX) return true;
  fault_set(q->f, FAULT_LIMIT, "column %zu: filters, parentheses and calls are nested more than %d levels deep",
            column(q, q->at), JSON_PATH_DEPTH_MAX);
  fault_set_path(q->f, path_column(q, q->at));
  return false;
}

// ---- strings ----

static bool read_hex(struct path_parser *q, uint32_t *out) {
  int value = q->text.n - q->at >= 4 ? json_text_hex4(q->text.p + q->at) : -1;
  if (value < 0) return path_refuse(q, q->at, "\\u must be followed by four hexadecimal digits");
  q->at += 4;
  *out = (uint32_t)value;
  return true;
}

// Reads the four digits after \u and, after a high surrogate, the escape of the low surrogate.
static bool read_unicode(struct path_parser *q, uint32_t *out) {
  size_t at = q->at - 2;
  uint32_t high = 0, low = 0;
  if (!read_hex(q, &high)) return false;
  *out = high;
  if (high < 0xd800 || high > 0xdfff) return true;
  if (high > 0xdbff || !path_take(q, '\\') || !path_take(q, 'u'))
    return path_refuse(q, at, "a surrogate escape is not part of a pair");
  if (!read_hex(q, &low)) return false;
  if (low < 0xdc00 || low > 0xdfff) return path_refuse(q, at, "a surrogate escape is not part of a pair");
  *out = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  return true;
}

// Reads an escape after its backslash. Only the quote that encloses the string may be escaped, not the other kind of
// quote.
static bool read_escape(struct path_parser *q, char quote, uint32_t *out) {
  static const char letters[] = "bfnrt/\\", values[] = "\b\f\n\r\t/\\";
  int c = path_peek(q);
  const char *known = c > 0 ? strchr(letters, c) : NULL;
  q->at++;
  if (c == 'u') return read_unicode(q, out);
  if (c != quote && !known) return path_refuse(q, q->at - 2, "unknown escape sequence in a string");
  *out = (uint32_t)(known ? values[known - letters] : quote);
  return true;
}

// Reads a string from its opening to its closing quote, and unescapes it.
bool path_parse_string(struct path_parser *q, str *out) {
  size_t begin = q->at;
  char quote = (char)path_peek(q), *text = arena_alloc(q->a, q->text.n - begin);
  size_t n = 0;
  for (q->at++; !path_take(q, quote);) {
    uint32_t c = (uint32_t)path_peek(q);
    if (q->at >= q->text.n) return path_refuse(q, begin, "the string has no closing quote");
    if (c < ' ') return path_refuse(q, q->at, "a control character in a string must be escaped");
    q->at++;
    if (c != '\\') {
      text[n++] = (char)c;
      continue;
    }
    if (!read_escape(q, quote, &c)) return false;
    n += utf8_put(c, text + n);
  }
  *out = (str){text, n};
  return true;
}

// ---- selectors ----

static bool is_digit(int c) {
  return c >= '0' && c <= '9';
}

static bool read_index(struct path_parser *q, int64_t *out) {
  size_t begin = q->at;
  bool negative = path_take(q, '-');
  size_t digits = q->at;
  uint64_t value = 0;
  for (; is_digit(path_peek(q)); q->at++)
    if (value <= (uint64_t)INDEX_MAX) value = value * 10 + (uint64_t)(path_peek(q) - '0');
  if (q->at == digits) return path_expect(q, "expected a digit");
  if (q->text.p[digits] == '0' && (negative || q->at - digits > 1))
    return path_refuse(q, begin, "a number must not have leading zeros or be -0");
  if (value > (uint64_t)INDEX_MAX) return path_refuse(q, begin, "the number exceeds the maximum of 9007199254740991");
  *out = negative ? -(int64_t)value : (int64_t)value;
  return true;
}

static bool at_number(const struct path_parser *q) {
  return path_peek(q) == '-' || is_digit(path_peek(q));
}

// Reads the rest of a slice after its first colon, but not the blanks after the slice.
static bool read_slice_rest(struct path_parser *q, struct path_slice *slice) {
  slice->step = 1;
  path_skip_blanks(q);
  if (at_number(q)) {
    slice->has_end = true;
    if (!read_index(q, &slice->end)) return false;
    path_skip_blanks(q);
  }
  if (!path_take(q, ':')) return true;
  path_skip_blanks(q);
  return !at_number(q) || read_index(q, &slice->step);
}

static bool read_index_or_slice(struct path_parser *q, struct path_selector *s) {
  s->kind = PATH_INDEX;
  if (at_number(q)) {
    s->slice.has_start = true;
    if (!read_index(q, &s->slice.start)) return false;
  }
  path_skip_blanks(q);
  if (!path_take(q, ':')) return true;
  s->kind = PATH_SLICE;
  return read_slice_rest(q, &s->slice);
}

static bool read_filter(struct path_parser *q, struct path_selector *s) {
  s->kind = PATH_FILTER;
  path_skip_blanks(q);
  if (path_enter(q)) s->filter = path_parse_filter(q);
  q->depth--;
  if (!s->filter) return false;
  s->wanted = path_collect(q, s->filter);
  path_note_needs(q, s);
  return true;
}

static bool set_name(struct path_parser *q, struct path_selector *s, str name) {
  s->kind = PATH_NAME;
  s->name = name;
  s->set = q->sets++;
  s->quoted = arena_printf(q->a, "\"%.*s\"", STR_ARG(name));
  return true;
}

static bool read_selector(struct path_parser *q, struct path_selector *s) {
  int c = path_peek(q);
  if (c == '\'' || c == '"') {
    str name;
    return path_parse_string(q, &name) && set_name(q, s, name);
  }
  if (c == ':' || at_number(q)) return read_index_or_slice(q, s);
  if (path_take(q, '?')) return read_filter(q, s);
  s->kind = PATH_WILDCARD;
  return path_take(q, '*') || path_expect(q, "expected 'name', an index, a slice 0:2, '*' or '?'");
}

// ---- segments ----

static bool read_brackets(struct path_parser *q, struct path_segment *segment) {
  struct path_selector **tail = &segment->selectors;
  do {
    *tail = ARENA_NEW(q->a, struct path_selector);
    path_skip_blanks(q);
    if (!read_selector(q, *tail)) return false;
    tail = &(*tail)->next;
    path_skip_blanks(q);
  } while (path_take(q, ','));
  return path_take(q, ']') || path_expect(q, "expected ',' or ']'");
}

static bool begins_name(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

// Reads the name or * that follows one or two dots.
static bool read_shorthand(struct path_parser *q, struct path_segment *segment) {
  struct path_selector *s = segment->selectors = ARENA_NEW(q->a, struct path_selector);
  s->kind = PATH_WILDCARD;
  if (path_take(q, '*')) return true;
  size_t begin = q->at;
  if (!begins_name(path_peek(q)))
    return path_expect(q, segment->descend ? "expected a name, '*' or '[' after '..'"
                                           : "expected a name or '*' after '.'");
  while (begins_name(path_peek(q)) || is_digit(path_peek(q))) q->at++;
  return set_name(q, s, (str){q->text.p + begin, q->at - begin});
}

static bool read_segment(struct path_parser *q, struct path_segment *segment) {
  if (path_take(q, '[')) return read_brackets(q, segment);
  path_take(q, '.');
  segment->descend = path_take(q, '.');
  if (segment->descend) segment->descent = q->descents++;
  if (segment->descend && path_take(q, '[')) return read_brackets(q, segment);
  return read_shorthand(q, segment);
}

static bool selects_one(const struct path_segment *segment) {
  const struct path_selector *s = segment->selectors;
  return !segment->descend && !s->next && (s->kind == PATH_NAME || s->kind == PATH_INDEX);
}

// Reads the segments of a query, but not the blanks after the last segment.
bool path_parse_segments(struct path_parser *q, struct path_query *out) {
  struct path_segment **tail = &out->segments;
  out->singular = true;
  for (;;) {
    size_t before = q->at;
    path_skip_blanks(q);
    if (path_peek(q) != '.' && path_peek(q) != '[') {
      q->at = before;
      return true;
    }
    *tail = ARENA_NEW(q->a, struct path_segment);
    if (!read_segment(q, *tail)) return false;
    out->singular = out->singular && selects_one(*tail);
    tail = &(*tail)->next;
  }
}
