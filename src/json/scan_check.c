// SPDX-License-Identifier: Apache-2.0
// Checks every byte of JSON text without building nodes. For each open container, one bit says whether it is an object
// or an array.
//
// Functions that read text take a position. They return the position after the bytes that they read, or NULL after a
// failure.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "json/scan_impl.h"
#include "json/text.h"

// ---- strings

static const char *check_unicode_escape(struct json_scan *s, const char *p) {
  int c = s->end - p < 6 ? -1 : json_text_hex4(p + 2);
  if (c < 0) return json_scan_fail(s, p, "expected four hexadecimal digits after \\u");
  if (c < 0xd800 || c > 0xdfff) return p + 6;
  bool paired = c < 0xdc00 && s->end - p >= 12 && p[6] == '\\' && p[7] == 'u';
  int low = paired ? json_text_hex4(p + 8) : -1;
  if (low < 0xdc00 || low > 0xdfff) return json_scan_fail(s, p, "expected a pair of surrogate escapes");
  return p + 12;
}

static const char *check_escape(struct json_scan *s, const char *p) {
  char c = json_scan_peek(s, p + 1);
  if (c == 'u') return check_unicode_escape(s, p);
  if (c && strchr("\"\\/bfnrt", c)) return p + 2;
  return json_scan_fail(s, p + 1, "expected one of \"\\/bfnrtu after a backslash");
}

static const char *check_beyond_ascii(struct json_scan *s, const char *p) {
  while (p < s->end && (unsigned char)*p >= 0x80) {
    size_t n = utf8_char(p, (size_t)(s->end - p));
    if (!n) return json_scan_fail(s, p, "expected valid UTF-8");
    p += n;
  }
  return p;
}

// Reads a string from the position after its opening quote.
static inline const char *check_string(struct json_scan *s, const char *p) {
  for (;;) {
    p = json_text_skip_plain(p, s->end);
    if (p == s->end) return json_scan_fail(s, p, "expected the closing quote of a string");
    if (*p == '"') return p + 1;
    if (*p == '\\') p = check_escape(s, p);
    else if ((unsigned char)*p < ' ')
      p = json_scan_fail(s, p, "expected an escape such as \\n, not a control character");
    else p = check_beyond_ascii(s, p);
    if (!p) return NULL;
  }
}

// ---- other scalars

static const char *check_digits(struct json_scan *s, const char *p) {
  const char *begin = p;
  while (p < s->end && (unsigned char)(*p - '0') < 10) p++;
  return p == begin ? json_scan_fail(s, p, "expected a digit") : p;
}

static const char *check_number(struct json_scan *s, const char *p) {
  if (*p == '-') p++;
  const char *first = p;
  if (!(p = check_digits(s, p))) return NULL;
  if (*first == '0' && p - first > 1) return json_scan_fail(s, first, "expected a number without leading zeros");
  if (json_scan_peek(s, p) == '.' && !(p = check_digits(s, p + 1))) return NULL;
  if ((json_scan_peek(s, p) | 0x20) != 'e') return p;
  p++;
  if (json_scan_peek(s, p) == '+' || json_scan_peek(s, p) == '-') p++;
  return check_digits(s, p);
}

const char *json_scan_word(struct json_scan *s, const char *p) {
  str rest = {p, (size_t)(s->end - p)}, word = *p == 't' ? STR("true") : *p == 'f' ? STR("false") : STR("null");
  return str_starts(rest, word) ? p + word.n : json_scan_fail(s, p, "expected a value");
}

static inline const char *check_scalar(struct json_scan *s, const char *p) {
  char c = json_scan_peek(s, p);
  if (c == '"') return check_string(s, p + 1);
  if (c == '-' || (unsigned char)(c - '0') < 10) return check_number(s, p);
  if (c == 't' || c == 'f' || c == 'n') return json_scan_word(s, p);
  return json_scan_fail(s, p, "expected a value");
}

// ---- containers

struct nesting {
  unsigned depth, max;
  uint64_t objects[JSON_DEEPEST / 64];  // one bit for each level of nesting: 1 for an object, 0 for an array
};

static bool in_object(const struct nesting *n) {
  return n->depth && n->objects[(n->depth - 1) / 64] >> (n->depth - 1) % 64 & 1;
}

static const char *open_container(struct json_scan *s, struct nesting *n, const char *p) {
  if (n->depth == n->max) return json_scan_fail(s, p, json_scan_too_deep);
  uint64_t *bits = &n->objects[n->depth / 64], bit = UINT64_C(1) << n->depth % 64;
  *bits = *p == '{' ? *bits | bit : *bits & ~bit;
  n->depth++;
  return json_scan_blanks(p + 1, s->end);
}

static inline const char *check_key(struct json_scan *s, const char *p) {
  if (json_scan_peek(s, p) != '"') return json_scan_fail(s, p, "expected a key in quotes");
  if (!(p = check_string(s, p + 1))) return NULL;
  p = json_scan_blanks(p, s->end);
  if (json_scan_peek(s, p) != ':') return json_scan_fail(s, p, "expected ':' after a key");
  return json_scan_blanks(p + 1, s->end);
}

// Closes the containers that end at `p`. Returns the start of the next value, or the position after the outermost
// container if this container ends.
static inline const char *check_separators(struct json_scan *s, struct nesting *n, const char *p) {
  while (n->depth) {
    bool object = in_object(n);
    p = json_scan_blanks(p, s->end);
    char c = json_scan_peek(s, p);
    if (c == ',') {
      p = json_scan_blanks(p + 1, s->end);
      return object ? check_key(s, p) : p;
    }
    if (c != (object ? '}' : ']')) return json_scan_fail(s, p, object ? "expected ',' or '}'" : "expected ',' or ']'");
    n->depth--;
    p++;
  }
  return p;
}

const char *json_scan_verify_scalar(struct json_scan *s, const char *value) {
  return check_scalar(s, value);
}

const char *json_scan_verify(struct json_scan *s, const char *value, unsigned max_depth) {
  ASSERT(max_depth <= JSON_DEEPEST);
  struct nesting n = {.max = max_depth < JSON_DEEPEST ? max_depth : JSON_DEEPEST};
  const char *p = value;
  do {
    char c = json_scan_peek(s, p);
    if (c == '{' || c == '[') {
      if (!(p = open_container(s, &n, p))) return NULL;
      if (json_scan_peek(s, p) != (c == '{' ? '}' : ']')) {
        if (c == '{') p = check_key(s, p);
        continue;
      }
      n.depth--;
      p++;
    } else {
      p = check_scalar(s, p);
    }
    if (p) p = check_separators(s, &n, p);
  } while (p && n.depth);
  return p;
}

bool json_scan_check(str text, const struct json_limits *limits, struct fault *f) {
  struct json_scan s = json_scan_strict(text);
  if (text.n > limits->max_bytes) {
    fault_set(f, FAULT_LIMIT, "the text has more than %zu bytes", limits->max_bytes);
    return false;
  }
  const char *after = json_scan_verify(&s, json_scan_first(&s), limits->max_depth);
  if (after && json_scan_ends(&s, after)) return true;
  json_scan_fault(&s, f);
  return false;
}
