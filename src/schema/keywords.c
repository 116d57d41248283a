// SPDX-License-Identifier: Apache-2.0
// Which keywords there are, and those of them that look at a value alone.
#include "schema/schema_impl.h"

static schema_keyword_compile compile_type, compile_enum, compile_const, compile_bound, compile_multiple, compile_count,
    compile_pattern, compile_format, compile_required, compile_unique, want_string, want_boolean, want_array, want_map,
    want_count;

enum { D4 = SCHEMA_DRAFT_4, D6, D7, D19, D20 };
enum {
  CORE = VOCABULARY_CORE,
  APPLY = VOCABULARY_APPLICATOR,
  CHECK = VOCABULARY_VALIDATION,
  LEFT = VOCABULARY_UNEVALUATED,
  NOTE = VOCABULARY_REMARKS,
  FORM = VOCABULARY_FORMAT,
};

// clang-format off
static const struct schema_keyword keywords[] = {
    {"$ref", D4, D20, CORE, CHILD_NONE, schema_compile_ref},
    {"$recursiveRef", D19, D19, CORE, CHILD_NONE, schema_compile_dynamic_ref},
    {"$dynamicRef", D20, D20, CORE, CHILD_NONE, schema_compile_dynamic_ref},
    {"$defs", D19, D20, CORE, CHILD_MAP, want_map},
    {"$comment", D7, D20, CORE, CHILD_NONE, want_string},
    {"$recursiveAnchor", D19, D19, CORE, CHILD_NONE, want_boolean},
    {"definitions", D4, D20, CORE, CHILD_MAP, want_map},
    {"type", D4, D20, CHECK, CHILD_NONE, compile_type},
    {"enum", D4, D20, CHECK, CHILD_NONE, compile_enum},
    {"const", D6, D20, CHECK, CHILD_NONE, compile_const},
    {"minimum", D4, D20, CHECK, CHILD_NONE, compile_bound},
    {"maximum", D4, D20, CHECK, CHILD_NONE, compile_bound},
    {"exclusiveMinimum", D6, D20, CHECK, CHILD_NONE, compile_bound},
    {"exclusiveMaximum", D6, D20, CHECK, CHILD_NONE, compile_bound},
    {"exclusiveMinimum", D4, D4, CHECK, CHILD_NONE, want_boolean},
    {"exclusiveMaximum", D4, D4, CHECK, CHILD_NONE, want_boolean},
    {"multipleOf", D4, D20, CHECK, CHILD_NONE, compile_multiple},
    {"minLength", D4, D20, CHECK, CHILD_NONE, compile_count},
    {"maxLength", D4, D20, CHECK, CHILD_NONE, compile_count},
    {"minItems", D4, D20, CHECK, CHILD_NONE, compile_count},
    {"maxItems", D4, D20, CHECK, CHILD_NONE, compile_count},
    {"minProperties", D4, D20, CHECK, CHILD_NONE, compile_count},
    {"maxProperties", D4, D20, CHECK, CHILD_NONE, compile_count},
    {"pattern", D4, D20, CHECK, CHILD_NONE, compile_pattern},
    {"format", D4, D20, FORM, CHILD_NONE, compile_format},
    {"required", D4, D20, CHECK, CHILD_NONE, compile_required},
    {"uniqueItems", D4, D20, CHECK, CHILD_NONE, compile_unique},
    {"properties", D4, D20, APPLY, CHILD_MAP, schema_compile_properties},
    {"patternProperties", D4, D20, APPLY, CHILD_MAP, schema_compile_properties},
    {"additionalProperties", D4, D20, APPLY, CHILD_SCHEMA, schema_compile_properties},
    {"propertyNames", D6, D20, APPLY, CHILD_SCHEMA, schema_compile_single},
    {"dependencies", D4, D20, APPLY, CHILD_DEPENDENCIES, schema_compile_dependent},
    {"dependentSchemas", D19, D20, APPLY, CHILD_MAP, schema_compile_dependent},
    {"dependentRequired", D19, D20, CHECK, CHILD_NONE, schema_compile_dependent},
    {"items", D4, D19, APPLY, CHILD_ITEMS, schema_compile_items},
    {"items", D20, D20, APPLY, CHILD_SCHEMA, schema_compile_items},
    {"prefixItems", D20, D20, APPLY, CHILD_LIST, schema_compile_items},
    {"additionalItems", D4, D19, APPLY, CHILD_SCHEMA, schema_compile_items},
    {"contains", D6, D20, APPLY, CHILD_SCHEMA, schema_compile_contains},
    {"minContains", D19, D20, CHECK, CHILD_NONE, want_count},
    {"maxContains", D19, D20, CHECK, CHILD_NONE, want_count},
    {"allOf", D4, D20, APPLY, CHILD_LIST, schema_compile_list},
    {"anyOf", D4, D20, APPLY, CHILD_LIST, schema_compile_list},
    {"oneOf", D4, D20, APPLY, CHILD_LIST, schema_compile_list},
    {"not", D4, D20, APPLY, CHILD_SCHEMA, schema_compile_single},
    {"if", D7, D20, APPLY, CHILD_SCHEMA, schema_compile_if},
    {"then", D7, D20, APPLY, CHILD_SCHEMA, NULL},
    {"else", D7, D20, APPLY, CHILD_SCHEMA, NULL},
    {"unevaluatedProperties", D19, D20, LEFT, CHILD_SCHEMA, schema_compile_unevaluated},
    {"unevaluatedItems", D19, D20, LEFT, CHILD_SCHEMA, schema_compile_unevaluated},
    {"contentSchema", D19, D20, NOTE, CHILD_SCHEMA, NULL},
    {"contentMediaType", D7, D20, NOTE, CHILD_NONE, want_string},
    {"contentEncoding", D7, D20, NOTE, CHILD_NONE, want_string},
    {"title", D4, D20, NOTE, CHILD_NONE, want_string},
    {"description", D4, D20, NOTE, CHILD_NONE, want_string},
    {"examples", D6, D20, NOTE, CHILD_NONE, want_array},
    {"readOnly", D7, D20, NOTE, CHILD_NONE, want_boolean},
    {"writeOnly", D7, D20, NOTE, CHILD_NONE, want_boolean},
    {"deprecated", D19, D20, NOTE, CHILD_NONE, want_boolean},
};
// clang-format on

// Most keys are sorted out by their first letter.
static bool begins_alike(const struct json *member, const char *name) {
  return member->flags & JSON_KEY_ESCAPED || (member->key_n && member->key[0] == name[0]);
}

const struct schema_keyword *schema_keyword_find(const struct schema_resource *r, const struct json *member) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
    const struct schema_keyword *k = &keywords[i];
    if (!begins_alike(member, k->name)) continue;
    if (r->draft < k->from || r->draft > k->to || !json_key_is(member, str_of(k->name))) continue;
    return r->vocabularies & k->vocabulary ? k : NULL;
  }
  return NULL;
}

const struct json *schema_keyword_get(const struct schema_node *n, str name) {
  const struct json *m = json_get(n->source, name);
  return m && schema_keyword_find(n->resource, m) ? m : NULL;
}

struct schema_rule *schema_rule_add(struct schema_compiler *c, struct schema_node *n, enum schema_op op, unsigned types,
                                    const struct json *member) {
  struct schema_rule *r = &n->rules[n->rule_count++];
  *r = (struct schema_rule){.op = (uint8_t)op, .types = (uint8_t)types, .source = member};
  r->keyword = json_key(member, c->arena);
  return r;
}

static void sort_rules(struct schema_node *n) {
  for (uint32_t i = 1; i < n->rule_count; i++) {
    struct schema_rule moved = n->rules[i];
    uint32_t k = i;
    for (; k > 0 && n->rules[k - 1].op > moved.op; k--) n->rules[k] = n->rules[k - 1];
    n->rules[k] = moved;
  }
}

bool schema_compile_node(struct schema_compiler *c, struct schema_node *n) {
  const struct json *v = n->source;
  n->never = v->type == JSON_FALSE;
  if (v->type != JSON_OBJECT) return true;
  n->rules = ARENA_ARRAY(c->arena, struct schema_rule, v->count + 1);
  const struct json *ref = n->resource->draft <= SCHEMA_DRAFT_7 ? json_get(v, STR("$ref")) : NULL;
  if (json_is(ref, JSON_STRING)) return schema_compile_ref(c, n, ref);
  JSON_EACH(m, v) {
    const struct schema_keyword *k = schema_keyword_find(n->resource, m);
    if (k && k->compile && !k->compile(c, n, m)) return false;
  }
  sort_rules(n);
  return true;
}

// ---- shapes ----

static bool want(struct schema_compiler *c, const struct schema_node *n, const struct json *m, bool ok,
                 const char *shape) {
  return ok || schema_fail_at(c, n, m, "%.*s must be %s", (int)m->key_n, m->key, shape);
}

static bool want_string(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  return want(c, n, m, m->type == JSON_STRING, "a string");
}

static bool want_boolean(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  return want(c, n, m, m->type == JSON_TRUE || m->type == JSON_FALSE, "true or false");
}

static bool want_array(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  return want(c, n, m, m->type == JSON_ARRAY, "an array");
}

static bool want_map(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  return want(c, n, m, m->type == JSON_OBJECT, "an object of schemas");
}

static bool want_count(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  uint64_t count;
  return want(c, n, m, exact_count(m, &count), "an integer that is not negative");
}

static bool want_different(struct schema_compiler *c, const struct schema_node *n, const struct json *list) {
  size_t first, second, steps = SIZE_MAX - 1;
  if (!schema_find_twins(list, c->arena, &steps, &first, &second)) return true;
  return schema_fail_at(c, n, json_at(list, second), "element %zu is the same as element %zu", second, first);
}

bool schema_strings(struct schema_compiler *c, const struct schema_node *n, const struct json *list, const str **out) {
  if (!want(c, n, list, list->type == JSON_ARRAY, "an array of names")) return false;
  str *names = ARENA_ARRAY(c->arena, str, list->count + 1);
  size_t i = 0;
  JSON_EACH(e, list)
    if (!json_string(e, c->arena, &names[i++])) return schema_fail_at(c, n, e, "the name of a property is a string");
  if (!want_different(c, n, list)) return false;
  *out = names;
  return true;
}

// ---- any value ----

static bool find_type(const struct json *name, unsigned *out) {
  static const struct {
    str name;
    unsigned types;
  } known[] = {{STR("null"), 1 << JSON_NULL},     {STR("boolean"), 1 << JSON_TRUE | 1 << JSON_FALSE},
               {STR("number"), TYPES_NUMBER},     {STR("integer"), TYPES_INTEGER},
               {STR("string"), 1 << JSON_STRING}, {STR("array"), 1 << JSON_ARRAY},
               {STR("object"), 1 << JSON_OBJECT}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!json_equals_str(name, known[i].name)) continue;
    *out |= known[i].types;
    return true;
  }
  return false;
}

static bool compile_type(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  unsigned types = 0;
  bool list = m->type == JSON_ARRAY;
  if (!want(c, n, m, m->type == JSON_STRING || (list && m->count), "the name of a type, or an array of them"))
    return false;
  for (const struct json *e = list ? m->child : m; e; e = list ? e->next : NULL)
    if (!find_type(e, &types))
      return schema_fail_at(c, n, e, "there is no type %.*s", (int)(e->n < 80 ? e->n : 80), e->p);
  n->types = (uint8_t)types;
  return !list || want_different(c, n, m);
}

static const struct names *all_strings(struct schema_compiler *c, const struct json *list) {
  JSON_EACH(e, list)
    if (e->type != JSON_STRING) return NULL;
  struct names *names = names_new(c->arena, list->count);
  JSON_EACH(e, list) {
    str text = STR_NONE;
    json_string(e, c->arena, &text);
    names_add(names, text, e);
  }
  names_sort(names);
  return names;
}

static bool compile_enum(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  bool strict = n->resource->draft <= SCHEMA_DRAFT_6;
  if (!want(c, n, m, m->type == JSON_ARRAY && (m->count || !strict), strict ? "a list of values" : "an array"))
    return false;
  if (strict && !want_different(c, n, m)) return false;
  schema_rule_add(c, n, OP_ENUM, TYPES_ALL, m)->strings = all_strings(c, m);
  return true;
}

static bool compile_const(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  schema_rule_add(c, n, OP_CONST, TYPES_ALL, m);
  return true;
}

// ---- numbers ----

// Draft 4 had flags beside the bounds; schemas that do not say their draft still come with them.
static bool is_flag(const struct schema_node *n, const struct json *m) {
  return !n->resource->declared && (m->type == JSON_TRUE || m->type == JSON_FALSE);
}

static bool compile_bound(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  str key = json_key(m, c->arena);
  bool lower = str_ends(key, STR("inimum")), exclusive = str_starts(key, STR("exclusive"));
  if (exclusive && is_flag(n, m)) return true;
  if (!want(c, n, m, m->type == JSON_NUMBER, "a number")) return false;
  if (!exclusive)
    exclusive = json_is(json_get(n->source, lower ? STR("exclusiveMinimum") : STR("exclusiveMaximum")), JSON_TRUE);
  enum schema_op inclusive_op = lower ? OP_MINIMUM : OP_MAXIMUM;
  enum schema_op exclusive_op = lower ? OP_EXCLUSIVE_MINIMUM : OP_EXCLUSIVE_MAXIMUM;
  schema_rule_add(c, n, exclusive ? exclusive_op : inclusive_op, TYPES_NUMBER, m);
  return true;
}

static bool compile_multiple(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  struct exact_divisor d;
  if (!want(c, n, m, m->type == JSON_NUMBER && exact_divisor(m, &d), "a number above 0 of at most 19 digits"))
    return false;
  schema_rule_add(c, n, OP_MULTIPLE, TYPES_NUMBER, m)->divisor = d;
  return true;
}

// ---- strings, sizes ----

static bool compile_count(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  uint64_t count;
  if (!want_count(c, n, m) || !exact_count(m, &count)) return false;
  str key = json_key(m, c->arena);
  bool min = str_starts(key, STR("min"));
  unsigned types = TYPES_OBJECT;
  enum schema_op op = min ? OP_COUNT_MIN : OP_COUNT_MAX;
  if (str_ends(key, STR("Length"))) {
    types = TYPES_STRING;
    op = min ? OP_LENGTH_MIN : OP_LENGTH_MAX;
  } else if (str_ends(key, STR("Items"))) {
    types = TYPES_ARRAY;
  }
  schema_rule_add(c, n, op, types, m)->count = count;
  return true;
}

static bool compile_pattern(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  str pattern;
  char why[REGEX_WHY];
  if (!want_string(c, n, m) || !json_string(m, c->arena, &pattern)) return false;
  const struct regex *x = regex_new(c->arena, pattern, why);
  if (!x) return schema_fail_at(c, n, m, "%s", why);
  schema_rule_add(c, n, OP_PATTERN, TYPES_STRING, m)->regex = x;
  return true;
}

static bool compile_format(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  str name;
  if (!want_string(c, n, m) || !json_string(m, c->arena, &name)) return false;
  bool asserted = c->schema->options.assert_formats || (n->resource->vocabularies & VOCABULARY_FORMAT_ASSERTED);
  const struct schema_format *f = asserted ? schema_format_find(name) : NULL;
  if (f) schema_rule_add(c, n, OP_FORMAT, TYPES_STRING, m)->format = f;
  return true;
}

// ---- objects, arrays ----

static bool compile_required(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const str *names;
  if (!schema_strings(c, n, m, &names)) return false;
  if (n->resource->draft == SCHEMA_DRAFT_4 && !want(c, n, m, m->count, "a list with a name in it")) return false;
  struct schema_rule *r = schema_rule_add(c, n, OP_REQUIRED, TYPES_OBJECT, m);
  r->required.list = names;
  r->required.count = m->count;
  return true;
}

static bool compile_unique(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  if (!want_boolean(c, n, m)) return false;
  if (m->type == JSON_TRUE) schema_rule_add(c, n, OP_UNIQUE, TYPES_ARRAY, m);
  return true;
}
