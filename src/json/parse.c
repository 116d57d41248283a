// SPDX-License-Identifier: Apache-2.0
// The parser: one loop, no recursion. While a container is open, its member `next` points to the enclosing container.
#include <stdio.h>

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "json/parse_impl.h"

const struct json_limits json_default_limits = {.max_bytes = 64 << 20, .max_depth = 128};

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

__attribute__((cold, noinline)) const char *json_fail(struct parser *s, const char *at, const char *message) {
  fault_set(s->fault, FAULT_INVALID, "%s", message);
  set_position(s, at);
  return NULL;
}

__attribute__((cold, noinline)) const char *json_fail_limit(struct parser *s, const char *at, enum fault_limit which,
                                                            size_t limit) {
  ASSERT((unsigned)which <= LIMIT_VALUES);
  static const char *const names[] = {
      [LIMIT_OTHER] = "bytes in a key",
      [LIMIT_BYTES] = "bytes",
      [LIMIT_DEPTH] = "levels of nesting",
      [LIMIT_VALUES] = "values",
  };
  fault_set(s->fault, FAULT_LIMIT, "the text has more than %zu %s", limit, names[which]);
  s->fault->limit = which;
  set_position(s, at);
  return NULL;
}

__attribute__((cold, noinline)) const char *json_fail_expected(struct parser *s, const char *at, const char *what) {
  unsigned char c = at < s->end ? (unsigned char)*at : 0;
  if (at >= s->end) fault_set(s->fault, FAULT_INVALID, "%s, but the text ends", what);
  else if (c > 0x20 && c < 0x7f) fault_set(s->fault, FAULT_INVALID, "%s, not '%c'", what, c);
  else fault_set(s->fault, FAULT_INVALID, "%s, not byte 0x%02x", what, c);
  set_position(s, at);
  return NULL;
}

static const char *check_unicode_escape(struct parser *s, const char *p) {
  int c = s->end - p < 6 ? -1 : json_text_hex4(p + 2);
  if (c < 0) return json_fail(s, p, "\\u must be followed by four hexadecimal digits");
  if (c < 0xd800 || c > 0xdfff) return p + 6;
  bool paired = c < 0xdc00 && s->end - p >= 12 && p[6] == '\\' && p[7] == 'u';
  int low = paired ? json_text_hex4(p + 8) : -1;
  if (low < 0xdc00 || low > 0xdfff) return json_fail(s, p, "a surrogate escape is not part of a pair");
  return p + 12;
}

const char *json_check_escape(struct parser *s, const char *p) {
  switch (json_peek(s, p + 1)) {
  case '"':
  case '\\':
  case '/':
  case 'b':
  case 'f':
  case 'n':
  case 'r':
  case 't': return p + 2;
  case 'u': return check_unicode_escape(s, p);
  default: return json_fail_expected(s, p + 1, "expected one of \"\\/bfnrtu after a backslash");
  }
}

// Checks several characters above ASCII at once, because they are seldom alone. Returns the position after them.
const char *json_check_beyond_ascii(struct parser *s, const char *p) {
  while (p < s->end && (unsigned char)*p >= 0x80) {
    size_t n = utf8_char(p, (size_t)(s->end - p));
    if (!n) return json_fail(s, p, "the string is not valid UTF-8");
    p += n;
  }
  return p;
}

__attribute__((cold, noinline)) bool json_fail_duplicate(struct parser *s, str key, bool escaped) {
  const char *at = key.p - 1;
  if (escaped)
    key = json_key(&(struct json){.key = key.p, .key_n = (uint32_t)key.n, .flags = JSON_KEY_ESCAPED}, s->arena);
  if (key.n > FAULT_TEXT) key.n = FAULT_TEXT;
  fault_set(s->fault, FAULT_INVALID, "the key \"%.*s\" occurs twice in an object", STR_ARG(key));
  set_position(s, at);
  return false;
}

static bool fail_member(struct parser *s, const struct json *m) {
  return json_fail_duplicate(s, (str){m->key, m->key_n}, m->flags & JSON_KEY_ESCAPED);
}

static bool check_many_keys(struct parser *s, const struct json *object) {
  struct hash_key seed = rand_hash_key(&rand_system);
  struct map keys;
  map_init(&keys, &seed);
  const struct json *m = object->child;
  while (m && map_add(&keys, json_key(m, s->arena), (void *)m)) m = m->next;
  map_done(&keys);
  return m ? fail_member(s, m) : true;
}

static bool check_keys(struct parser *s, const struct json *object) {
  if (object->count > JSON_PAIRS_UP_TO) return check_many_keys(s, object);
  str keys[JSON_PAIRS_UP_TO];
  size_t n = 0;
  uint64_t seen = 0;
  JSON_EACH(m, object) {
    str key = {m->key, m->key_n};
    if (m->flags & JSON_KEY_ESCAPED) key = json_key(m, s->arena);
    uint64_t bit = json_key_bit(key);
    if (seen & bit)
      for (size_t i = 0; i < n; i++)
        if (str_eq(keys[i], key)) return fail_member(s, m);
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
  if (json_peek(s, p) != '"') return json_fail_expected(s, p, "expected a key in quotes");
  v->key = p + 1;
  if (!(p = json_check_string(s, p + 1, JSON_KEY_ESCAPED, &v->flags))) return NULL;
  v->key_n = (uint32_t)(p - v->key);
  p = json_skip_space(p + 1, s->end);
  if (json_peek(s, p) != ':') return json_fail_expected(s, p, "expected ':' after a key");
  return json_skip_space(p + 1, s->end);
}

// ---- folding

// Starts a container that may be folded (struct json_fold), and sets its maximum number of values: fold_values minus
// the values read so far, but at least a sixteenth of fold_values.
static void begin_foldable(struct parser *s, struct json *v) {
  size_t left = s->fold_values > s->nodes ? s->fold_values - s->nodes : 0, least = s->fold_values / 16;
  s->foldable = v;
  s->before = arena_mark(s->arena);
  s->nodes_before = s->nodes;
  s->max_nodes = s->nodes + (left > least ? left : least);
  if (s->max_nodes > s->most_nodes) s->max_nodes = s->most_nodes;
}

static void end_foldable(struct parser *s) {
  ASSERT(s->depth <= JSON_DEEPEST);
  s->foldable = NULL;
  s->max_nodes = s->most_nodes;
}

// Folds the container that has exceeded its maximum number of values: reads the container again from its start, now
// without nodes for its contents.
static const char *fold(struct parser *s, const char *p) {
  struct json *v = s->foldable;
  if (!v) return json_fail_limit(s, p, LIMIT_VALUES, s->max_nodes);
  ASSERT(s->depth >= s->fold_depth && s->nodes >= s->nodes_before);
  arena_rewind(s->arena, &s->before);
  s->open = v->next;
  s->last = v;
  s->depth = s->fold_depth - 1;
  s->nodes = s->nodes_before;
  v->child = v->next = NULL;
  v->flags |= JSON_FOLDED;
  end_foldable(s);
  p = json_check_container(s, v->p, s->fold_depth, &v->count);
  if (p) v->n = (uint32_t)(p - v->p);
  return p;
}

static inline const char *open_container(struct parser *s, const char *p, struct json *v) {
  if (++s->depth > s->max_depth) return json_fail_limit(s, p, LIMIT_DEPTH, s->max_depth);
  v->type = *p == '{' ? JSON_OBJECT : JSON_ARRAY;
  v->p = p;
  v->next = s->open;
  s->open = v;
  s->last = NULL;
  if (s->depth == s->fold_depth) begin_foldable(s, v);
  return json_skip_space(p + 1, s->end);
}

static inline const char *close_container(struct parser *s, const char *p) {
  struct json *v = s->open;
  if (v->type == JSON_OBJECT && v->count > 1 && !check_keys(s, v)) return NULL;
  v->n = (uint32_t)(p + 1 - v->p);
  s->open = v->next;
  v->next = NULL;
  s->last = v;
  if (s->depth-- == s->fold_depth) end_foldable(s);
  return p + 1;
}

static inline char closing_of(const struct json *container) {
  return container->type == JSON_OBJECT ? '}' : ']';
}

// Closes the containers that end at `p`. Returns the start of the next element or member, after its comma. Returns the
// position after the outermost value if this value ends.
static inline const char *read_separators(struct parser *s, const char *p) {
  while (s->open) {
    p = json_skip_space(p, s->end);
    char c = json_peek(s, p);
    if (c == ',') return json_skip_space(p + 1, s->end);
    if (c != closing_of(s->open))
      return json_fail_expected(s, p, s->open->type == JSON_OBJECT ? "expected ',' or '}'" : "expected ',' or ']'");
    if (!(p = close_container(s, p))) return NULL;
  }
  return p;
}

static const char *read_all(struct parser *s, const char *p) {
  do {
    if (++s->nodes > s->max_nodes) {
      p = fold(s, p);
    } else {
      struct json *v = add_node(s);
      if (s->open && s->open->type == JSON_OBJECT && !(p = read_key(s, p, v))) return NULL;
      char c = json_peek(s, p);
      if (c != '{' && c != '[') {
        v->p = p;
        p = json_check_scalar(s, p, &v->type, &v->flags);
        if (p) v->n = (uint32_t)(p - v->p);
      } else {
        p = open_container(s, p, v);
        if (p && json_peek(s, p) != closing_of(v)) continue;
        if (p) p = close_container(s, p);
      }
    }
    if (!p || !(p = read_separators(s, p))) return NULL;
  } while (s->open);
  return p;
}

static struct json *parse(struct parser *s, str text, const struct json_limits *limits) {
  if (!text.p) text = STR("");
  s->start = text.p;
  s->end = text.p + text.n;
  s->max_depth = limits->max_depth < JSON_DEEPEST ? limits->max_depth : JSON_DEEPEST;
  size_t max_bytes = limits->max_bytes < UINT32_MAX ? limits->max_bytes : UINT32_MAX;
  const char *p;
  if (text.n > max_bytes) p = json_fail_limit(s, text.p, LIMIT_BYTES, max_bytes);
  else if (str_starts(text, STR("\xef\xbb\xbf")))
    p = json_fail(s, text.p, "the JSON text must not begin with a byte order mark");
  else p = read_all(s, json_skip_space(s->start, s->end));
  if (p && (p = json_skip_space(p, s->end)) != s->end) p = json_fail_expected(s, p, "expected the end of the text");
  ASSERT(!p || (s->root && !s->open && s->depth == 0));
  return p ? s->root : NULL;
}

struct json *json_parse(struct arena *a, str text, const struct json_limits *limits, struct fault *f) {
  ASSERT(a && limits && f);
  size_t most = limits->max_values && limits->max_values < JSON_MOST_VALUES ? limits->max_values : JSON_MOST_VALUES;
  struct parser s = {.arena = a, .max_nodes = most, .fault = f};
  return parse(&s, text, limits);
}

struct json *json_parse_folding(struct arena *a, str text, const struct json_limits *limits,
                                const struct json_fold *fold, struct fault *f) {
  if (!fold) return json_parse(a, text, limits, f);
  struct parser s = {.arena = a, .fault = f, .fold_depth = fold->depth, .fold_values = fold->values};
  size_t most = (size_t)fold->values * JSON_FOLD_MOST + JSON_FOLD_OTHERS;
  s.max_nodes = s.most_nodes = most < JSON_MOST_VALUES ? most : JSON_MOST_VALUES;
  return parse(&s, text, limits);
}

bool json_unfold(struct arena *a, struct json *v, const struct json_limits *limits, const struct json_fold *fold,
                 struct fault *f) {
  if (!json_is_folded(v)) return true;
  struct json *again = json_parse_folding(a, json_span(v), limits, fold, f);
  if (!again) return false;
  ASSERT(again->type == v->type);  // cannot fail: the text was checked when the container was folded
  v->child = again->child;
  v->flags &= (uint8_t)~JSON_FOLDED;
  return true;
}
