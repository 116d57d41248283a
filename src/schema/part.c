// SPDX-License-Identifier: Apache-2.0
// What to show of a schema to whoever has to mend a value: no more than the errors are about.
#include "schema/schema_impl.h"

const struct json *schema_source(const struct schema *s) {
  return s->root;
}

static bool holds(const struct json *v, const struct json *part) {
  return part->p >= v->p && part->p + part->n <= v->p + v->n;
}

static bool holds_all(const struct json *v, const struct schema_result *r) {
  for (size_t i = 0; i < r->count; i++)
    if (!holds(v, r->errors[i].part)) return false;
  return true;
}

// Do the members of a keyword's value have names that are no keywords?
static bool is_map(const struct json *v) {
  static const str keywords[] = {STR("properties"),       STR("patternProperties"), STR("$defs"),
                                 STR("dependentSchemas"), STR("definitions"),       STR("dependencies")};
  if (v->type == JSON_ARRAY) return true;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (v->key && json_key_is(v, keywords[i])) return true;
  return false;
}

// The innermost schema below v that all errors are about.
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

static bool refers(const struct json *v) {
  return memmem(v->p, v->n, "\"$ref\"", 6) != NULL;
}

const struct json *schema_failing(const struct schema *s, const struct schema_result *r, size_t max_bytes) {
  const struct json *part = r->count ? innermost(s->root, r) : s->root;
  // What it refers to lies elsewhere in the schema.
  if (refers(part) && s->root->n <= max_bytes) part = s->root;
  return part->n <= max_bytes ? part : NULL;
}
