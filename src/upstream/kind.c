// SPDX-License-Identifier: Apache-2.0
#include "upstream/kind.h"

#include "base/assert.h"

#define KIND_ADDRESS(name) &upstream_##name,
const struct upstream_kind *const upstream_kinds[] = {UPSTREAM_KINDS(KIND_ADDRESS)};
#undef KIND_ADDRESS

unsigned kind_number(const struct upstream_kind *k) {
  unsigned n = 0;
  while (n < UPSTREAM_KIND_COUNT && upstream_kinds[n] != k) n++;
  ASSERT(n < UPSTREAM_KIND_COUNT);
  return n;
}

const struct upstream_kind *kind_of_word(const struct json *word) {
  for (size_t n = 0; n < UPSTREAM_KIND_COUNT; n++) {
    const struct upstream_kind *k = upstream_kinds[n];
    if (k->alias && json_equals_str(word, str_of(k->alias))) return k;
    for (size_t i = 0; i < KIND_WORDS && k->words[i]; i++)
      if (json_equals_str(word, str_of(k->words[i]))) return k;
  }
  return NULL;
}

const char *kind_words(struct arena *a) {
  str text = STR_NONE;
  for (size_t n = 0; n < UPSTREAM_KIND_COUNT; n++)
    for (size_t i = 0; i < KIND_WORDS && upstream_kinds[n]->words[i]; i++)
      text = arena_printf(a, "%.*s%s%s", STR_ARG(text), text.n ? ", " : "", upstream_kinds[n]->words[i]);
  return text.p;
}

const struct upstream_kind *kind_of_place(str key) {
  for (size_t n = 0; n < UPSTREAM_KIND_COUNT; n++)
    if (upstream_kinds[n]->implied && str_eq(key, str_of(upstream_kinds[n]->place))) return upstream_kinds[n];
  return NULL;
}

static bool lists(const struct upstream_kind *k, str key) {
  for (size_t i = 0; i < KIND_KEYS && k->keys[i]; i++)
    if (str_eq(key, str_of(k->keys[i]))) return true;
  return false;
}

bool kind_uses(const struct upstream_kind *k, str key) {
  bool any = false;
  for (size_t n = 0; n < UPSTREAM_KIND_COUNT; n++) any |= lists(upstream_kinds[n], key);
  return !any || lists(k, key);
}

void kinds_check(void) {
  for (size_t n = 0; n < UPSTREAM_KIND_COUNT; n++) {
    const struct upstream_kind *k = upstream_kinds[n];
    ASSERT(k->name && k->status && k->brief && k->place && k->open);
    ASSERT(!(k->parse && k->parse_file) && !k->own_free == !k->own_same);
    ASSERT(!k->parse_file || k->own_free);
  }
}
