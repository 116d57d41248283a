// SPDX-License-Identifier: Apache-2.0
// Tolerant arguments: one line of JSON as the schema, the rest as the arguments. Whatever is repaired is still JSON,
// needs no second repair, and differs only in members that were text.
#include "base/assert.h"
#include "call/controls/literals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct json *parse(struct arena *a, str text) {
  struct fault f;
  return json_parse(a, text, &json_default_limits, &f);
}

static void check_members(const struct json *before, const struct json *after, size_t repairs) {
  size_t changed = 0;
  const struct json *b = before->child, *c = after->child;
  for (; b && c; b = b->next, c = c->next) {
    ASSERT(str_eq((str){b->key, b->key_n}, (str){c->key, c->key_n}));
    if (str_eq(json_span(b), json_span(c))) continue;
    ASSERT(b->type == JSON_STRING && c->type != JSON_STRING && c->type != JSON_OBJECT && c->type != JSON_ARRAY);
    changed++;
  }
  ASSERT(!b && !c && changed == repairs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena a;
  arena_init(&a);
  str head, tail, text;
  str_cut((str){(const char *)data, n}, '\n', &head, &tail);
  const struct json *schema = parse(&a, head), *args = parse(&a, tail);
  struct literal_repairs repairs = {0}, again = {0};
  if (args && literal_object(args, &json_default_limits, &a, &text)) {
    args = parse(&a, text);
    ASSERT(json_is(args, JSON_OBJECT));
  }
  if (args && literal_repair(args, schema, &a, &text, &repairs)) {
    const struct json *repaired = parse(&a, text);
    ASSERT(json_is(repaired, JSON_OBJECT) && literal_suspects(args));
    check_members(args, repaired, repairs.count);
    ASSERT(!literal_repair(repaired, schema, &a, &text, &again));
    ASSERT(json_is(parse(&a, literal_list(&repairs, &a)), JSON_ARRAY));
  }
  arena_done(&a);
  return 0;
}
