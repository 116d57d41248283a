// SPDX-License-Identifier: Apache-2.0
#include "json/pointer.h"

// An array index: digits, no leading zero.
static struct json *find_element(struct json *array, str token) {
  uint64_t index;
  if (token.n > 1 && token.p[0] == '0') return NULL;
  return str_to_u64(token, &index) ? json_at(array, index) : NULL;
}

// "~1" and "~0" become "/" and "~"; false for any other "~".
static bool unescape(str token, char *out, size_t *out_n) {
  size_t n = 0;
  for (size_t i = 0; i < token.n; i++) {
    out[n++] = token.p[i];
    if (token.p[i] != '~') continue;
    if (++i == token.n || (token.p[i] != '0' && token.p[i] != '1')) return false;
    if (token.p[i] == '1') out[n - 1] = '/';
  }
  *out_n = n;
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
    if (pointer.p[0] != '/') return NULL;
    str rest = str_from(pointer, 1), token, tail;
    str_cut(rest, '/', &token, &tail);
    pointer = str_from(rest, token.n);  // keeps its slash, so that "/a/" ends in an empty token
    v = json_is(v, JSON_ARRAY) ? find_element(v, token) : find_member(v, token);
  }
  return v;
}

void json_pointer_push(struct buf *out, str token) {
  buf_char(out, '/');
  for (size_t i = 0; i < token.n; i++) {
    if (token.p[i] == '~') buf_str(out, STR("~0"));
    else if (token.p[i] == '/') buf_str(out, STR("~1"));
    else buf_char(out, token.p[i]);
  }
}
