// SPDX-License-Identifier: Apache-2.0
#include "result/envelope/same_json.h"

#include "base/assert.h"
#include "base/text/utf8.h"
#include "json/json.h"
#include "json/scan.h"
#include "json/text.h"

enum {
  SHORT_BYTES = 64 << 10,  // in JSON of at most this size, the order of keys does not matter
  NUMBERS = 4096,          // maximum number of equal numbers that the two texts write differently
};

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && is_blank(*p)) p++;
  return p;
}

struct side {
  const char *p, *end;
  size_t numbers;  // number of equal numbers found so far that the two texts write in different forms
};

// ---- strings ----

static const char *end_of_string(const char *p, const char *end) {
  for (; p < end && *p != '"'; p++)
    if (*p == '\\') p++;
  return p < end ? p : end;
}

// Returns the next character inside a string; 0 for an invalid escape.
static uint32_t next_char(struct side *s) {
  str rest = {s->p, (size_t)(s->end - s->p)};
  if (*s->p != '\\') {
    uint32_t c = utf8_next(&rest);
    s->p = rest.p;
    return c;
  }
  bool unicode = rest.n > 1 && rest.p[1] == 'u';
  int high = unicode && rest.n >= 6 ? json_text_hex4(rest.p + 2) : -1;
  bool pair = high >= 0xd800 && high <= 0xdbff;
  bool right = unicode ? high >= 0 && (high < 0xd800 || high > 0xdfff) : rest.n > 1 && strchr("\"\\/bfnrt", rest.p[1]);
  if (pair) {
    int low = rest.n >= 12 && rest.p[6] == '\\' && rest.p[7] == 'u' ? json_text_hex4(rest.p + 8) : -1;
    right = low >= 0xdc00 && low <= 0xdfff;
  }
  if (!right) {
    s->p = s->end;
    return 0;
  }
  uint32_t c = json_text_next(&rest);
  s->p = rest.p;
  return c;
}

// Compares two strings. a->p and b->p must be after the opening quotes, and are moved to after the closing quotes.
static bool same_string(struct side *a, struct side *b) {
  struct side x = {.p = a->p, .end = end_of_string(a->p, a->end)}, y = {.p = b->p, .end = end_of_string(b->p, b->end)};
  a->p = x.end < a->end ? x.end + 1 : a->end;
  b->p = y.end < b->end ? y.end + 1 : b->end;
  size_t n = (size_t)(x.end - x.p);
  if (n == (size_t)(y.end - y.p) && memcmp(x.p, y.p, n) == 0) return true;
  while (x.p < x.end && y.p < y.end)
    if (next_char(&x) != next_char(&y)) return false;
  return x.p == x.end && y.p == y.end;
}

// ---- numbers and words ----

static const char *end_of_scalar(const char *p, const char *end) {
  while (p < end && !is_blank(*p) && *p != ',' && *p != '}' && *p != ']' && *p != ':') p++;
  return p;
}

static bool same_number(str a, str b) {
  struct arena scratch;
  struct fault ignored;
  arena_init(&scratch);
  struct json *x = json_parse(&scratch, a, &json_default_limits, &ignored);
  struct json *y = json_parse(&scratch, b, &json_default_limits, &ignored);
  bool same = json_is(x, JSON_NUMBER) && y && json_same(x, y);
  arena_done(&scratch);
  return same;
}

static bool same_scalar(struct side *a, struct side *b) {
  str x = {a->p, (size_t)(end_of_scalar(a->p, a->end) - a->p)},
      y = {b->p, (size_t)(end_of_scalar(b->p, b->end) - b->p)};
  a->p += x.n;
  b->p += y.n;
  return x.n && y.n && (str_eq(x, y) || (a->numbers++ < NUMBERS && same_number(x, y)));
}

// ---- whole values ----

static bool is_sign(char c) {
  return c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':';
}

// Compares the two sides token by token. One side is valid JSON. If the other side is not JSON, the sides differ at
// some token.
static bool same_in_order(struct side a, struct side b) {
  for (;;) {
    a.p = skip_blanks(a.p, a.end);
    b.p = skip_blanks(b.p, b.end);
    if (a.p == a.end || b.p == b.end) return a.p == a.end && b.p == b.end;
    char c = *a.p;
    if (is_sign(c) || is_sign(*b.p) || c == '"' || *b.p == '"') {
      if (c != *b.p) return false;
      a.p++, b.p++;
      if (c == '"' && !same_string(&a, &b)) return false;
    } else if (!same_scalar(&a, &b)) {
      return false;
    }
  }
}

static bool same_in_any_order(str a, str b) {
  struct arena scratch;
  struct fault ignored;
  if (a.n > SHORT_BYTES || b.n > SHORT_BYTES) return false;
  arena_init(&scratch);
  struct json *x = json_parse(&scratch, a, &json_default_limits, &ignored);
  struct json *y = x ? json_parse(&scratch, b, &json_default_limits, &ignored) : NULL;
  bool same = y && json_same(x, y);
  arena_done(&scratch);
  return same;
}

static struct side side_of(str s) {
  return (struct side){.p = s.p, .end = s.p + s.n};
}

// Returns the value of an object's only member. Returns STR_NONE if the object does not have exactly one member.
static str only_member(str json) {
  struct json_scan scan = json_scan(json);
  struct json_walk w;
  const char *p = json_scan_first(&scan);
  if (p == scan.end || *p != '{' || !json_walk_open(&w, &scan, p) || !json_walk_next(&w)) return STR_NONE;
  str value = json_walk_value(&w);
  return json_walk_next(&w) || scan.wrong ? STR_NONE : value;
}

// Returns whether the text equals the unescaped value of a JSON string.
static bool is_text_of(str text, str string) {
  struct side s = {.p = string.p + 1, .end = string.p + string.n - 1};
  str rest = text;
  while (s.p < s.end && rest.n) {
    const char *stop = json_text_skip_plain(s.p, s.end);
    size_t n = (size_t)(stop - s.p);
    if (n > rest.n || memcmp(s.p, rest.p, n) != 0) return false;
    s.p = stop;
    rest = str_from(rest, n);
    if (s.p == s.end || !rest.n) break;
    if (next_char(&s) != utf8_next(&rest)) return false;
  }
  return s.p == s.end && !rest.n;
}

bool says_same(str text, str json) {
  ASSERT(json.n);
  const char *first = skip_blanks(text.p, text.p + text.n);
  str only = only_member(json);
  if (only.n >= 2 && *only.p == '"' && is_text_of(text, only)) return true;
  if (first == text.p + text.n) return false;
  if (*first == *json.p && (same_in_order(side_of(text), side_of(json)) || same_in_any_order(text, json))) return true;
  return only.n && *first == *only.p && *first != '"' && same_in_order(side_of(text), side_of(only));
}
