// SPDX-License-Identifier: Apache-2.0
// Schemas. The input is a schema, a newline, and a value. Whatever they are: what is refused is refused with a reason,
// an answer comes within the limits, errors come with places that exist, and the answer is the same without errors.
#include "base/assert.h"
#include "schema/schema.h"
#include "json/pointer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MOST_STEPS = 200000 };

static void check_errors(struct json *instance, const struct schema_result *r) {
  ASSERT(r->valid == (r->count == 0));
  for (size_t i = 0; i < r->count; i++) {
    const struct schema_error *e = &r->errors[i];
    ASSERT(e->message.n && e->part && json_pointer_find(instance, e->instance));
  }
}

static void check(struct arena *a, const struct schema_options *o, struct json *source, struct json *instance) {
  struct fault f = {0};
  struct schema_result all, first;
  struct schema_options silent = *o;
  silent.max_errors = 1;
  struct schema *s = schema_compile(source, o, &f), *quick = schema_compile(source, &silent, &f);
  ASSERT(!s == !quick);
  if (s) {
    schema_validate(s, instance, a, &all);
    schema_validate(quick, instance, a, &first);
    if (all.undecided) ASSERT(!all.valid && all.fault.code == FAULT_LIMIT);
    else check_errors(instance, &all);
    if (!all.undecided && !first.undecided) ASSERT(all.valid == first.valid);
  } else {
    ASSERT(f.code && f.message[0]);
  }
  schema_free(&s);
  schema_free(&quick);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct arena arena;
  struct fault f;
  str schema, value = STR("");
  struct schema_options o = schema_default_options;
  o.max_steps = MOST_STEPS;
  str_cut((str){(const char *)data, n}, '\n', &schema, &value);
  if (!value.p) value = STR("");
  arena_init(&arena);
  struct json *source = json_parse(&arena, schema, &json_default_limits, &f);
  struct json *instance = source ? json_parse(&arena, value, &json_default_limits, &f) : NULL;
  for (int draft = SCHEMA_DRAFT_4; instance && draft <= SCHEMA_DRAFT_2020_12; draft++) {
    o.draft = (enum schema_draft)draft;
    o.assert_formats = draft & 1;
    check(&arena, &o, source, instance);
  }
  arena_done(&arena);
  return 0;
}
