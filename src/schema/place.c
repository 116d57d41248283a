// SPDX-License-Identifier: Apache-2.0
// Finds positions in a schema: the JSON Pointer to a value, and the smallest schema that contains all errors.
#include "base/assert.h"
#include "schema/schema_impl.h"
#include "json/pointer.h"

// Nodes do not store their path. The path to `at` is found by spans: the span of a child lies within the span of its
// parent.
void schema_place(struct buf *out, const struct json *root, const struct json *at) {
  struct arena scratch;
  ASSERT(at->p >= root->p && at->p + at->n <= root->p + root->n);
  arena_init(&scratch);
  for (const struct json *v = root; v && v != at;) {
    const struct json *child = v->child;
    size_t index = 0;
    for (; child && !(at->p >= child->p && at->p < child->p + child->n); child = child->next) index++;
    struct str_digits digits;
    if (child) json_pointer_push(out, child->key ? json_key(child, &scratch) : str_from_u64(index, &digits));
    v = child;
  }
  arena_done(&scratch);
}

static bool holds_all(const struct json *v, const struct schema_result *r) {
  for (size_t i = 0; i < r->count; i++) {
    const struct json *part = r->errors[i].part;
    if (part->p < v->p || part->p + part->n > v->p + v->n) return false;
  }
  return true;
}

// Returns whether the value `v` of a keyword is not a schema, but a list or map of schemas.
static bool is_map(const struct json *v) {
  static const str keywords[] = {STR("properties"),       STR("patternProperties"), STR("$defs"),
                                 STR("dependentSchemas"), STR("definitions"),       STR("dependencies")};
  if (v->type == JSON_ARRAY) return true;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (v->key && json_key_is(v, keywords[i])) return true;
  return false;
}

// Returns the innermost schema inside `v` that contains all errors of the result.
static const struct json *innermost(const struct json *v, const struct schema_result *r) {
  const struct json *found = v;
  bool is_schema = true;
  for (const struct json *child = v->child; child;) {
    if (!holds_all(child, r)) {
      child = child->next;
      continue;
    }
    is_schema = !is_schema || !is_map(child);
    if (is_schema) found = child;
    child = child->child;
  }
  return found;
}

const struct json *schema_source(const struct schema *s) {
  return s->root;
}

const struct json *schema_failing(const struct schema *s, const struct schema_result *r, size_t max_bytes) {
  const struct json *part = r->count ? innermost(s->root, r) : s->root;
  // A part that contains references is not understandable without their targets. So the whole schema is used if it is
  // short enough.
  bool refers = memmem(part->p, part->n, "\"$ref\"", 6) != NULL;
  if (refers && s->root->n <= max_bytes) part = s->root;
  return part->n <= max_bytes ? part : NULL;
}
