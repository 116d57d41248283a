// SPDX-License-Identifier: Apache-2.0
// The parser: one loop, no recursion. While a container is open, its `next` points to the container around it.
#include <stdio.h>

#include "base/map.h"
#include "base/rand.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/text.h"

enum { COMPARE_PAIRS_UP_TO = 64 };

const struct json_limits json_default_limits = {.max_bytes = 64 << 20, .max_depth = 128};

struct parser {
  const char *start, *end;
  struct arena *arena;
  struct json *root;
  struct json *open;  // the innermost container that is not closed yet, or NULL
  struct json *last;  // its last element so far, or NULL
  unsigned depth, max_depth;
  size_t nodes;
  struct fault *fault;
};

// All functions that read take the position and give the one behind what they read, or NULL after a failure.

static void set_position(const struct parser *s, const char *at) {
  unsigned line = 1, column = 1;
  for (const char *p = s->start; p < at; p++) {
    if (*p == '\n') line++, column = 1;
    else if (!utf8_follows(*p)) column++;
  }
  char path[64];
  int n = snprintf(path, sizeof path, "line %u, column %u", line, column);
  fault_set_path(s->fault, (str){path, (size_t)n});
}

__attribute__((cold, noinline)) static const char *fail(struct parser *s, const char *at, const char *message) {
  fault_set(s->fault, FAULT_INVALID, "%s", message);
  set_position(s, at);
  return NULL;
}

__attribute__((cold, noinline)) static const char *fail_limit(struct parser *s, const char *at, const char *what,
                                                              size_t limit) {
  fault_set(s->fault, FAULT_LIMIT, "more than %zu %s", limit, what);
  set_position(s, at);
  return NULL;
}

__attribute__((cold, noinline)) static const char *fail_expected(struct parser *s, const char *at, const char *what) {
  unsigned char c = at < s->end ? (unsigned char)*at : 0;
  if (at >= s->end) fault_set(s->fault, FAULT_INVALID, "the text ends where %s was expected", what);
  else if (c > 0x20 && c < 0x7f) fault_set(s->fault, FAULT_INVALID, "'%c' where %s was expected", c, what);
  else fault_set(s->fault, FAULT_INVALID, "byte 0x%02x where %s was expected", c, what);
  set_position(s, at);
  return NULL;
}

static inline const char *skip_space(const char *p, const char *end) {
  if (p < end && (unsigned char)*p > ' ') return p;
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
  return p;
}

// 0 at the end of the text: no rule of the grammar accepts that byte.
static inline char peek(const struct parser *s, const char *p) {
  return p < s->end ? *p : 0;
}

static const char *check_unicode_escape(struct parser *s, const char *p) {
  int c = s->end - p < 6 ? -1 : json_text_hex4(p + 2);
  if (c < 0) return fail(s, p, "\\u without four hexadecimal digits");
  if (c < 0xd800 || c > 0xdfff) return p + 6;
  bool paired = c < 0xdc00 && s->end - p >= 12 && p[6] == '\\' && p[7] == 'u';
  int low = paired ? json_text_hex4(p + 8) : -1;
  if (low < 0xdc00 || low > 0xdfff) return fail(s, p, "an escaped surrogate without its other half");
  return p + 12;
}

static const char *check_escape(struct parser *s, const char *p) {
  switch (peek(s, p + 1)) {
  case '"':
  case '\\':
  case '/':
  case 'b':
  case 'f':
  case 'n':
  case 'r':
  case 't': return p + 2;
  case 'u': return check_unicode_escape(s, p);
  default: return fail_expected(s, p + 1, "one of \"\\/bfnrtu after the backslash");
  }
}

// Letters of other scripts seldom come alone.
static const char *check_beyond_ascii(struct parser *s, const char *p) {
  while (p < s->end && (unsigned char)*p >= 0x80) {
    size_t n = utf8_char(p, (size_t)(s->end - p));
    if (!n) return fail(s, p, "invalid UTF-8 in a string");
    p += n;
  }
  return p;
}

// From behind the opening quote to the closing one.
// Inlined by force: it makes a fifth of the time of a short request.
__attribute__((always_inline)) static inline const char *check_string(struct parser *s, const char *p, uint8_t escaped,
                                                                      uint8_t *flags) {
  for (;;) {
    p = json_text_skip_plain(p, s->end);
    if (p == s->end) return fail_expected(s, p, "the end of a string");
    if (*p == '"') return p;
    if (*p == '\\') {
      *flags |= escaped;
      if (!(p = check_escape(s, p))) return NULL;
      continue;
    }
    if ((unsigned char)*p < ' ') return fail(s, p, "a control character in a string must be escaped");
    if (!(p = check_beyond_ascii(s, p))) return NULL;
  }
}

static inline const char *skip_digits(const char *p, const char *end) {
  while (p < end && (unsigned char)(*p - '0') < 10) p++;
  return p;
}

static const char *check_digits(struct parser *s, const char *p) {
  const char *behind = skip_digits(p, s->end);
  return behind == p ? fail_expected(s, p, "a digit") : behind;
}

static inline const char *check_number(struct parser *s, const char *p) {
  if (*p == '-') p++;
  const char *first = p;
  if (!(p = check_digits(s, p))) return NULL;
  if (*first == '0' && p - first > 1) return fail(s, first, "a number with a leading zero");
  if (peek(s, p) == '.' && !(p = check_digits(s, p + 1))) return NULL;
  if ((peek(s, p) | 0x20) != 'e') return p;
  p++;
  if (peek(s, p) == '+' || peek(s, p) == '-') p++;
  return check_digits(s, p);
}

static inline const char *check_word(struct parser *s, const char *p, str word) {
  if (!str_starts((str){p, (size_t)(s->end - p)}, word)) return fail_expected(s, p, "a value");
  return p + word.n;
}

__attribute__((cold, noinline)) static bool fail_duplicate(struct parser *s, const struct json *member) {
  str key = json_key(member, s->arena);
  if (key.n > FAULT_TEXT) key.n = FAULT_TEXT;
  fault_set(s->fault, FAULT_INVALID, "the key \"%.*s\" occurs twice in an object", STR_ARG(key));
  set_position(s, member->key - 1);
  return false;
}

static bool check_many_keys(struct parser *s, const struct json *object) {
  struct hash_key seed = rand_hash_key(&rand_system);
  struct map keys;
  map_init(&keys, &seed);
  const struct json *m = object->child;
  while (m && map_add(&keys, json_key(m, s->arena), (void *)m)) m = m->next;
  map_done(&keys);
  return m ? fail_duplicate(s, m) : true;
}

// A bit for a key; different bits mean different keys.
static inline uint64_t key_bit(str key) {
  if (!key.n) return 1;
  unsigned first = (unsigned char)key.p[0], middle = (unsigned char)key.p[key.n / 2],
           last = (unsigned char)key.p[key.n - 1];
  return UINT64_C(1) << (((unsigned)key.n * 7 + first * 5 + last * 11 + middle) & 63);
}

static bool check_keys(struct parser *s, const struct json *object) {
  if (object->count > COMPARE_PAIRS_UP_TO) return check_many_keys(s, object);
  str keys[COMPARE_PAIRS_UP_TO];
  size_t n = 0;
  uint64_t seen = 0;
  JSON_EACH(m, object) {
    str key = {m->key, m->key_n};
    if (m->flags & JSON_KEY_ESCAPED) key = json_key(m, s->arena);
    uint64_t bit = key_bit(key);
    if (seen & bit)
      for (size_t i = 0; i < n; i++)
        if (str_eq(keys[i], key)) return fail_duplicate(s, m);
    seen |= bit;
    keys[n++] = key;
  }
  return true;
}

static inline struct json *add_node(struct parser *s) {
  struct arena *a = s->arena;
  struct json *v;
  if ((size_t)(a->end - a->p) >= sizeof *v) {
    v = (struct json *)(void *)a->p;
    a->p += sizeof *v;
  } else {
    v = arena_alloc(a, sizeof *v);
  }
  *v = (struct json){0};
  if (s->last) s->last->next = v;
  else if (s->open) s->open->child = v;
  else s->root = v;
  if (s->open) s->open->count++;
  s->last = v;
  return v;
}

static inline const char *read_key(struct parser *s, const char *p, struct json *v) {
  if (peek(s, p) != '"') return fail_expected(s, p, "a key in quotes");
  v->key = p + 1;
  if (!(p = check_string(s, p + 1, JSON_KEY_ESCAPED, &v->flags))) return NULL;
  v->key_n = (uint32_t)(p - v->key);
  p = skip_space(p + 1, s->end);
  if (peek(s, p) != ':') return fail_expected(s, p, "':' after a key");
  return skip_space(p + 1, s->end);
}

static const char *read_scalar(struct parser *s, const char *p, struct json *v) {
  v->p = p;
  switch (peek(s, p)) {
  case '"':
    v->type = JSON_STRING;
    p = check_string(s, p + 1, JSON_ESCAPED, &v->flags);
    if (p) p++;
    break;
  case 't': v->type = JSON_TRUE, p = check_word(s, p, STR("true")); break;
  case 'f': v->type = JSON_FALSE, p = check_word(s, p, STR("false")); break;
  case 'n': v->type = JSON_NULL, p = check_word(s, p, STR("null")); break;
  case '-':
  case '0' ... '9': v->type = JSON_NUMBER, p = check_number(s, p); break;
  default: return fail_expected(s, p, "a value");
  }
  if (p) v->n = (uint32_t)(p - v->p);
  return p;
}

static inline const char *open_container(struct parser *s, const char *p, struct json *v) {
  if (++s->depth > s->max_depth) return fail_limit(s, p, "levels of nesting", s->max_depth);
  v->type = *p == '{' ? JSON_OBJECT : JSON_ARRAY;
  v->p = p;
  v->next = s->open;
  s->open = v;
  s->last = NULL;
  return skip_space(p + 1, s->end);
}

static inline const char *close_container(struct parser *s, const char *p) {
  struct json *v = s->open;
  if (v->type == JSON_OBJECT && v->count > 1 && !check_keys(s, v)) return NULL;
  v->n = (uint32_t)(p + 1 - v->p);
  s->open = v->next;
  v->next = NULL;
  s->last = v;
  s->depth--;
  return p + 1;
}

static inline char closing_of(const struct json *container) {
  return container->type == JSON_OBJECT ? '}' : ']';
}

// Closes what ends here, up to the comma before the next element or the end of the outermost value.
static inline const char *read_separators(struct parser *s, const char *p) {
  while (s->open) {
    p = skip_space(p, s->end);
    char c = peek(s, p);
    if (c == ',') return skip_space(p + 1, s->end);
    if (c != closing_of(s->open))
      return fail_expected(s, p, s->open->type == JSON_OBJECT ? "',' or '}'" : "',' or ']'");
    if (!(p = close_container(s, p))) return NULL;
  }
  return p;
}

static const char *read_all(struct parser *s, const char *p) {
  do {
    if (++s->nodes > JSON_MOST_VALUES) return fail_limit(s, p, "values", JSON_MOST_VALUES);
    struct json *v = add_node(s);
    if (s->open && s->open->type == JSON_OBJECT && !(p = read_key(s, p, v))) return NULL;
    char c = peek(s, p);
    if (c != '{' && c != '[') {
      p = read_scalar(s, p, v);
    } else {
      p = open_container(s, p, v);
      if (p && peek(s, p) != closing_of(v)) continue;
      if (p) p = close_container(s, p);
    }
    if (!p || !(p = read_separators(s, p))) return NULL;
  } while (s->open);
  return p;
}

static const char *read_text(struct parser *s, str text) {
  if (str_starts(text, STR("\xef\xbb\xbf"))) return fail(s, text.p, "a byte order mark before the JSON text");
  const char *p = read_all(s, skip_space(s->start, s->end));
  if (!p) return NULL;
  p = skip_space(p, s->end);
  return p == s->end ? p : fail_expected(s, p, "the end of the text");
}

struct json *json_parse(struct arena *a, str text, const struct json_limits *limits, struct fault *f) {
  if (!text.p) text = STR("");
  struct parser s = {.start = text.p, .end = text.p + text.n, .arena = a, .fault = f};
  s.max_depth = limits->max_depth < JSON_DEEPEST ? limits->max_depth : JSON_DEEPEST;
  size_t max_bytes = limits->max_bytes < UINT32_MAX ? limits->max_bytes : UINT32_MAX;
  if (text.n > max_bytes) {
    fail_limit(&s, text.p, "bytes", max_bytes);
    return NULL;
  }
  return read_text(&s, text) ? s.root : NULL;
}
