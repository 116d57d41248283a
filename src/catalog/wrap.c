// SPDX-License-Identifier: Apache-2.0
#include "catalog/wrap.h"

#include "base/assert.h"
#include "base/buf.h"

bool wrap_needed(const struct json *schema) {
  if (json_is(schema, JSON_OBJECT)) return !json_equals_str(json_get(schema, STR("type")), STR("object"));
  return json_is(schema, JSON_TRUE) || json_is(schema, JSON_FALSE);
}

// ---- references

// Only the text of references is changed. The alternative, an "$id" that makes the schema a separate document, does not
// work: Ajv, which most clients use, does not terminate if such a document begins with a "$ref".

#define MOVED STR("/properties/result")

struct wrap_copy {
  struct buf *out;
  const char *from;  // start of the text that is not copied yet
  struct arena *arena;
};

static bool is_reference(const struct json *member) {
  static const str keys[] = {STR("$ref"), STR("$dynamicRef")};
  return member->type == JSON_STRING && json_key_in(member, keys, sizeof keys / sizeof *keys);
}

// Returns whether a member's value is not a schema, even if it looks like one.
static bool is_data(const struct json *member) {
  static const str keys[] = {STR("const"), STR("enum"), STR("default"), STR("examples")};
  return json_key_in(member, keys, sizeof keys / sizeof *keys);
}

// Returns whether a member's value is an object whose members are schemas, such as "properties".
static bool has_names(const struct json *member) {
  static const str keys[] = {STR("properties"),  STR("patternProperties"), STR("$defs"),
                             STR("definitions"), STR("dependentSchemas"),  STR("dependencies")};
  return json_key_in(member, keys, sizeof keys / sizeof *keys);
}

// Returns whether a part of the schema has its own base URI for references. An "$id" of the form "#name" is another
// form of "$anchor" and sets no base.
static bool is_document(const struct json *schema, struct arena *a) {
  const struct json *id = json_get(schema, STR("$id"));
  str text;
  return id && !(json_string(id, a, &text) && str_starts(text, STR("#")));
}

static void move(struct wrap_copy *c, const struct json *reference) {
  str target;
  if (!json_string(reference, c->arena, &target)) return;
  if (!str_eq(target, STR("#")) && !str_starts(target, STR("#/"))) return;
  const char *after = reference->p + (reference->p[1] == '#' ? STR("\"#").n : STR("\"\\u0023").n);
  buf_add(c->out, c->from, (size_t)(after - c->from));
  buf_str(c->out, MOVED);
  c->from = after;
}

static void move_references(struct wrap_copy *c, const struct json *v, bool names) {
  if (!names && is_document(v, c->arena)) return;
  JSON_EACH(it, v) {
    if (!it->key || names) move_references(c, it, false);
    else if (is_reference(it)) move(c, it);
    else if (!is_data(it)) move_references(c, it, has_names(it));
  }
}

// ---- the schema

str wrap_schema(const struct json *schema, struct arena *a) {
  // The buffer is large enough: a reference to the root, "$ref":"#", has at least ten bytes and becomes eighteen bytes
  // longer.
  struct buf b;
  buf_init(&b, (size_t)schema->n * 4 + 128);
  const struct json *dialect = json_get(schema, STR("$schema"));
  buf_char(&b, '{');
  if (json_is(dialect, JSON_STRING)) {
    buf_str(&b, STR("\"$schema\":"));
    buf_str(&b, json_span(dialect));
    buf_char(&b, ',');
  }
  buf_str(&b, STR("\"type\":\"object\",\"properties\":{\"result\":"));
  struct wrap_copy c = {&b, schema->p, a};
  move_references(&c, schema, false);
  buf_add(&b, c.from, (size_t)(schema->p + schema->n - c.from));
  buf_str(&b, STR("},\"required\":[\"result\"]}"));
  ASSERT(!b.over);
  str text = arena_str(a, buf_view(&b));
  buf_done(&b);
  return text;
}
