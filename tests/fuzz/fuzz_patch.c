// SPDX-License-Identifier: Apache-2.0
// Relaxed JSON as editors write it. A change of it gives JSON again, with what stayed and what came.
#include "base/assert.h"
#include "json/edit/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { INPUT_BYTES = 1 << 14 };

// Every second member.
static bool drops(void *ctx, const struct json *member) {
  const struct json *object = ctx;
  bool drop = false;
  JSON_EACH(it, object) {
    if (it == member) break;
    drop = !drop;
  }
  return drop || json_key_is(member, STR("toolgate"));
}

static void change(struct arena *a, str text) {
  struct json_patch p, again;
  struct fault f = {0};
  ASSERT(json_patch_init(&p, a, text, &json_default_limits, &f));
  size_t left = 0;
  const struct json *root = p.root;
  JSON_EACH(it, root) left += !drops((void *)root, it);
  json_patch_members(&p, root, drops, (void *)root, STR("toolgate"), STR("{\"command\":[1,{\"a\":2}]}"));
  str next = json_patch_apply(&p);
  ASSERT(json_patch_init(&again, a, next, &json_default_limits, &f));
  ASSERT(again.root->count == left + 1);
  ASSERT(json_get(json_get(again.root, STR("toolgate")), STR("command")));
  JSON_EACH(it, root)
    if (!drops((void *)root, it)) ASSERT(json_same(it, json_get(again.root, json_key(it, a))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  struct json_patch p;
  struct fault f = {0};
  if (n > INPUT_BYTES) return 0;
  arena_init(&a);
  str text = {(const char *)data, n};
  if (!json_patch_init(&p, &a, text, &json_default_limits, &f)) ASSERT(f.code && f.message[0]);
  else if (json_is(p.root, JSON_OBJECT)) change(&a, text);
  arena_done(&a);
  return 0;
}
