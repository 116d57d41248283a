// SPDX-License-Identifier: Apache-2.0
#include "json/json.h"

#include "base/assert.h"
#include "base/crypto/rand.h"
#include "base/map.h"
#include "json/number.h"
#include "json/text.h"

enum { SEARCH_UP_TO = 32 };

static inline bool key_is(const struct json *member, str key) {
  str text = {member->key, member->key_n};
  return member->flags & JSON_KEY_ESCAPED ? json_text_equals(text, key) : str_eq(text, key);
}

bool json_key_is(const struct json *member, str key) {
  return key_is(member, key);
}

bool json_key_in(const struct json *member, const str *keys, size_t count) {
  ASSERT(member && (keys || !count));
  for (size_t i = 0; member->key && i < count; i++)
    if (key_is(member, keys[i])) return true;
  return false;
}

struct json *json_get(const struct json *v, str key) {
  if (!v || v->type != JSON_OBJECT) return NULL;
  for (struct json *m = json_first(v); m; m = m->next)
    if (key_is(m, key)) return m;
  return NULL;
}

struct json *json_at(const struct json *v, size_t index) {
  if (!json_is(v, JSON_ARRAY) || index >= v->count) return NULL;
  struct json *e = json_first(v);
  while (index--) e = e->next;
  ASSERT(e);
  return e;
}

static str unescape(str text, bool escaped, struct arena *a) {
  if (!escaped) return text;
  char *out = arena_alloc(a, text.n);
  return (str){out, json_text_unescape(text, out)};
}

static str between_quotes(const struct json *string) {
  ASSERT(string->n >= 2);
  return (str){string->p + 1, string->n - 2};
}

bool json_string(const struct json *v, struct arena *a, str *out) {
  if (!json_is(v, JSON_STRING)) return false;
  *out = unescape(between_quotes(v), v->flags & JSON_ESCAPED, a);
  return true;
}

str json_key(const struct json *member, struct arena *a) {
  return unescape((str){member->key, member->key_n}, member->flags & JSON_KEY_ESCAPED, a);
}

bool json_equals_str(const struct json *v, str s) {
  if (!json_is(v, JSON_STRING)) return false;
  return v->flags & JSON_ESCAPED ? json_text_equals(between_quotes(v), s) : str_eq(between_quotes(v), s);
}

bool json_bool(const struct json *v, bool *out) {
  if (!json_is(v, JSON_TRUE) && !json_is(v, JSON_FALSE)) return false;
  *out = v->type == JSON_TRUE;
  return true;
}

static bool same_strings(const struct json *a, const struct json *b) {
  if (!(a->flags & JSON_ESCAPED)) return json_equals_str(b, between_quotes(a));
  if (!(b->flags & JSON_ESCAPED)) return json_equals_str(a, between_quotes(b));
  str x = between_quotes(a), y = between_quotes(b);
  while (x.n && y.n)
    if (json_text_next(&x) != json_text_next(&y)) return false;
  return x.n == y.n;
}

// Returns whether two objects are equal. Keys are unique, so if both objects have the same number of keys and `b` has
// each key of `a`, the sets of keys are equal. A large `b` is indexed first.
static bool same_objects(const struct json *a, const struct json *b) {
  if (a->count != b->count) return false;
  bool large = b->count > SEARCH_UP_TO, same = true;
  struct hash_key seed = large ? rand_hash_key(&rand_system) : (struct hash_key){0};
  struct arena scratch;
  struct map members;
  arena_init(&scratch);
  map_init(&members, &seed);
  for (const struct json *m = json_first(b); m && large; m = m->next)
    map_add(&members, json_key(m, &scratch), (void *)m);
  for (const struct json *m = json_first(a); m && same; m = m->next) {
    str key = json_key(m, &scratch);
    const struct json *other = large ? map_find(&members, key) : json_get(b, key);
    same = other && json_same(m, other);
  }
  map_done(&members);
  arena_done(&scratch);
  return same;
}

bool json_same(const struct json *a, const struct json *b) {
  ASSERT(a && b);
  if (a->type != b->type) return false;
  switch ((enum json_type)a->type) {
  case JSON_NUMBER: return json_number_same(a, b);
  case JSON_STRING: return same_strings(a, b);
  case JSON_ARRAY:
    for (a = json_first(a), b = json_first(b); a && b; a = a->next, b = b->next)
      if (!json_same(a, b)) return false;
    return !a && !b;
  case JSON_OBJECT: return same_objects(a, b);
  case JSON_NULL:
  case JSON_FALSE:
  case JSON_TRUE: break;
  }
  return true;
}
