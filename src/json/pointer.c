// SPDX-License-Identifier: Apache-2.0
#include "json/pointer.h"

#include "base/assert.h"

// Reads an array index: digits without a leading zero.
static bool read_index(str token, uint64_t *out) {
  return (token.n < 2 || token.p[0] != '0') && str_to_u64(token, out);
}

static struct json *find_element(struct json *array, str token) {
  uint64_t index;
  return read_index(token, &index) ? json_at(array, index) : NULL;
}

// Replaces "~1" by "/" and "~0" by "~". Returns false if the token contains any other "~".
static bool unescape(str token, char *out, size_t *out_n) {
  size_t n = 0;
  for (size_t i = 0; i < token.n; i++) {
    out[n++] = token.p[i];
    if (token.p[i] != '~') continue;
    if (++i == token.n || (token.p[i] != '0' && token.p[i] != '1')) return false;
    if (token.p[i] == '1') out[n - 1] = '/';
  }
  ASSERT(n <= token.n);
  *out_n = n;
  return true;
}

bool json_pointer_token(struct arena *a, str token, str *out) {
  char *text = arena_alloc(a, token.n + 1);
  size_t n;
  if (!unescape(token, text, &n)) return false;
  *out = (str){text, n};
  return true;
}

static struct json *find_member(struct json *object, str token) {
  if (!token.n || !memchr(token.p, '~', token.n)) return json_get(object, token);
  struct arena scratch;
  arena_init(&scratch);
  char *key = arena_alloc(&scratch, token.n);
  size_t n;
  struct json *member = unescape(token, key, &n) ? json_get(object, (str){key, n}) : NULL;
  arena_done(&scratch);
  return member;
}

struct json *json_pointer_find(struct json *root, str pointer) {
  struct json *v = root;
  while (v && pointer.n) {
    if (pointer.p[0] != '/' || json_is_folded(v)) return NULL;
    str rest = str_from(pointer, 1), token, tail;
    str_cut(rest, '/', &token, &tail);
    pointer = str_from(rest, token.n);  // keeps the slash before the next token, so that "/a/" ends in an empty token
    v = json_is(v, JSON_ARRAY) ? find_element(v, token) : find_member(v, token);
  }
  return v;
}

static const char *step_to(struct json_walk *w, str key) {
  while (json_walk_next(w))
    if (json_walk_key_is(w, key)) return w->value;
  return NULL;
}

static const char *step_to_member(struct json_walk *w, str token) {
  if (!token.n || !memchr(token.p, '~', token.n)) return step_to(w, token);
  struct arena scratch;
  arena_init(&scratch);
  char *key = arena_alloc(&scratch, token.n);
  size_t n;
  bool well_formed = unescape(token, key, &n);
  const char *member = step_to(w, well_formed ? (str){key, n} : (str){"\xff", 1});  // invalid UTF-8 equals no key
  arena_done(&scratch);
  return member;
}

static const char *step_to_element(struct json_walk *w, str token) {
  uint64_t index;
  bool known = read_index(token, &index);
  while (json_walk_next(w))
    if (known && w->count > index) return w->value;
  return NULL;
}

const char *json_pointer_step(struct json_scan *scan, const char *container, str token, size_t *out_count) {
  ASSERT(scan && out_count);
  struct json_walk w;
  if (!json_walk_open(&w, scan, container)) return NULL;
  const char *value = w.close == '}' ? step_to_member(&w, token) : step_to_element(&w, token);
  *out_count = w.count;
  return value;
}

void json_pointer_push(struct buf *out, str token) {
  ASSERT(out);
  buf_char(out, '/');
  for (size_t i = 0; i < token.n; i++) {
    if (token.p[i] == '~') buf_str(out, STR("~0"));
    else if (token.p[i] == '/') buf_str(out, STR("~1"));
    else buf_char(out, token.p[i]);
  }
}

str json_pointer_below(struct arena *a, str pointer, str token) {
  struct buf b;
  buf_init(&b, pointer.n + 2 * token.n + 1);
  buf_str(&b, pointer);
  json_pointer_push(&b, token);
  ASSERT(!b.over);
  str below = arena_str(a, buf_view(&b));
  buf_done(&b);
  return below;
}
