// SPDX-License-Identifier: Apache-2.0
// The table of keywords, and the functions that compile each keyword into rules.
#include "base/assert.h"
#include "schema/schema_impl.h"

static schema_keyword_compile compile_type, compile_enum, compile_const, compile_bound, compile_multiple, compile_count,
    compile_pattern, compile_format, compile_required, compile_unique, compile_properties, compile_items,
    compile_contains, compile_list, compile_single, compile_if, compile_dependent, compile_ref, compile_dynamic_ref,
    compile_unevaluated, want_string, want_boolean, want_array, want_map, want_count;

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
    {"$ref", D4, D20, CORE, CHILD_NONE, compile_ref},
    {"$recursiveRef", D19, D19, CORE, CHILD_NONE, compile_dynamic_ref},
    {"$dynamicRef", D20, D20, CORE, CHILD_NONE, compile_dynamic_ref},
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
    {"properties", D4, D20, APPLY, CHILD_MAP, compile_properties},
    {"patternProperties", D4, D20, APPLY, CHILD_MAP, compile_properties},
    {"additionalProperties", D4, D20, APPLY, CHILD_SCHEMA, compile_properties},
    {"propertyNames", D6, D20, APPLY, CHILD_SCHEMA, compile_single},
    {"dependencies", D4, D20, APPLY, CHILD_DEPENDENCIES, compile_dependent},
    {"dependentSchemas", D19, D20, APPLY, CHILD_MAP, compile_dependent},
    {"dependentRequired", D19, D20, CHECK, CHILD_NONE, compile_dependent},
    {"items", D4, D19, APPLY, CHILD_ITEMS, compile_items},
    {"items", D20, D20, APPLY, CHILD_SCHEMA, compile_items},
    {"prefixItems", D20, D20, APPLY, CHILD_LIST, compile_items},
    {"additionalItems", D4, D19, APPLY, CHILD_SCHEMA, compile_items},
    {"contains", D6, D20, APPLY, CHILD_SCHEMA, compile_contains},
    {"minContains", D19, D20, CHECK, CHILD_NONE, want_count},
    {"maxContains", D19, D20, CHECK, CHILD_NONE, want_count},
    {"allOf", D4, D20, APPLY, CHILD_LIST, compile_list},
    {"anyOf", D4, D20, APPLY, CHILD_LIST, compile_list},
    {"oneOf", D4, D20, APPLY, CHILD_LIST, compile_list},
    {"not", D4, D20, APPLY, CHILD_SCHEMA, compile_single},
    {"if", D7, D20, APPLY, CHILD_SCHEMA, compile_if},
    {"then", D7, D20, APPLY, CHILD_SCHEMA, NULL},
    {"else", D7, D20, APPLY, CHILD_SCHEMA, NULL},
    {"unevaluatedProperties", D19, D20, LEFT, CHILD_SCHEMA, compile_unevaluated},
    {"unevaluatedItems", D19, D20, LEFT, CHILD_SCHEMA, compile_unevaluated},
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

const struct schema_keyword *schema_keyword_find(const struct schema_resource *r, const struct json *member) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
    const struct schema_keyword *k = &keywords[i];
    // Compares the first letters, a cheap way to skip most keywords.
    if (!(member->flags & JSON_KEY_ESCAPED) && (!member->key_n || member->key[0] != k->name[0])) continue;
    if (r->draft < k->from || r->draft > k->to || !json_key_is(member, str_of(k->name))) continue;
    return r->vocabularies & k->vocabulary ? k : NULL;
  }
  return NULL;
}

// Returns the member `name` of a schema if it is a keyword in the schema's draft, or NULL.
static const struct json *keyword_get(const struct schema_node *n, str name) {
  const struct json *m = json_get(n->source, name);
  return m && schema_keyword_find(n->resource, m) ? m : NULL;
}

static struct schema_rule *rule_add(struct schema_compiler *c, struct schema_node *n, enum schema_op op, unsigned types,
                                    const struct json *member) {
  ASSERT(n->rule_count < n->source->count);
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
  if (json_is(ref, JSON_STRING)) return compile_ref(c, n, ref);
  JSON_EACH(m, v) {
    const struct schema_keyword *k = schema_keyword_find(n->resource, m);
    if (k && k->compile && !k->compile(c, n, m)) return false;
  }
  sort_rules(n);
  return true;
}

#define FAIL_AT(c, n, at, ...) schema_fail((c), (n)->resource, (at), FAULT_INVALID, __VA_ARGS__)

// ---- checks of keyword values ----

static bool want(struct schema_compiler *c, const struct schema_node *n, const struct json *m, bool ok,
                 const char *shape) {
  return ok || FAIL_AT(c, n, m, "%.*s must be %s", (int)m->key_n, m->key, shape);
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
  return want(c, n, m, exact_count(m, &count), "a non-negative integer");
}

static bool want_different(struct schema_compiler *c, const struct schema_node *n, const struct json *list) {
  size_t first, second, steps = SIZE_MAX - 1;
  if (!schema_find_twins(list, c->arena, &steps, &first, &second)) return true;
  return FAIL_AT(c, n, json_at(list, second), "element %zu equals element %zu", second, first);
}

// Reads an array of strings, which must all be different, into the arena.
static bool read_names(struct schema_compiler *c, const struct schema_node *n, const struct json *list,
                       const str **out) {
  if (!want(c, n, list, list->type == JSON_ARRAY, "an array of strings")) return false;
  str *names = ARENA_ARRAY(c->arena, str, list->count + 1);
  size_t i = 0;
  JSON_EACH(e, list)
    if (!json_string(e, c->arena, &names[i++])) return FAIL_AT(c, n, e, "a property name must be a string");
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
  if (!want(c, n, m, m->type == JSON_STRING || (list && m->count), "a type name or a non-empty array of type names"))
    return false;
  for (const struct json *e = list ? m->child : m; e; e = list ? e->next : NULL)
    if (!find_type(e, &types)) return FAIL_AT(c, n, e, "unknown type %.*s", (int)(e->n < 80 ? e->n : 80), e->p);
  n->types = (uint8_t)types;
  return !list || want_different(c, n, m);
}

static const struct name_set *all_strings(struct schema_compiler *c, const struct json *list) {
  JSON_EACH(e, list)
    if (e->type != JSON_STRING) return NULL;
  struct name_set *names = name_set_new(c->arena, list->count);
  JSON_EACH(e, list) {
    str text = STR_NONE;
    json_string(e, c->arena, &text);
    name_set_add(names, text, e);
  }
  name_set_sort(names);
  return names;
}

static bool compile_enum(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  bool strict = n->resource->draft <= SCHEMA_DRAFT_6;
  if (!want(c, n, m, m->type == JSON_ARRAY && (m->count || !strict), strict ? "a non-empty array" : "an array"))
    return false;
  if (strict && !want_different(c, n, m)) return false;
  rule_add(c, n, OP_ENUM, TYPES_ALL, m)->strings = all_strings(c, m);
  return true;
}

static bool compile_const(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  rule_add(c, n, OP_CONST, TYPES_ALL, m);
  return true;
}

// ---- numbers ----

static bool compile_bound(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  str key = json_key(m, c->arena);
  bool lower = str_ends(key, STR("inimum")), exclusive = str_starts(key, STR("exclusive"));
  // The value may be a boolean: in draft 4, exclusiveMinimum and exclusiveMaximum were booleans, and schemas that do
  // not declare their draft still use this form.
  bool flag = m->type == JSON_TRUE || m->type == JSON_FALSE;
  if (exclusive && flag && !n->resource->declared) return true;
  if (!want(c, n, m, m->type == JSON_NUMBER, "a number")) return false;
  if (!exclusive)
    exclusive = json_is(json_get(n->source, lower ? STR("exclusiveMinimum") : STR("exclusiveMaximum")), JSON_TRUE);
  enum schema_op inclusive_op = lower ? OP_MINIMUM : OP_MAXIMUM;
  enum schema_op exclusive_op = lower ? OP_EXCLUSIVE_MINIMUM : OP_EXCLUSIVE_MAXIMUM;
  rule_add(c, n, exclusive ? exclusive_op : inclusive_op, TYPES_NUMBER, m);
  return true;
}

static bool compile_multiple(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  struct exact_divisor d;
  if (!want(c, n, m, m->type == JSON_NUMBER && exact_divisor(m, &d), "a number above 0 of at most 19 digits"))
    return false;
  rule_add(c, n, OP_MULTIPLE, TYPES_NUMBER, m)->divisor = d;
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
  rule_add(c, n, op, types, m)->count = count;
  return true;
}

static bool compile_pattern(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  str pattern;
  char why[REGEX_WHY];
  if (!want_string(c, n, m) || !json_string(m, c->arena, &pattern)) return false;
  const struct regex *x = regex_new(c->arena, pattern, why);
  if (!x) return FAIL_AT(c, n, m, "%s", why);
  rule_add(c, n, OP_PATTERN, TYPES_STRING, m)->regex = x;
  return true;
}

static bool compile_format(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  str name;
  if (!want_string(c, n, m) || !json_string(m, c->arena, &name)) return false;
  bool asserted = c->schema->options.assert_formats || (n->resource->vocabularies & VOCABULARY_FORMAT_ASSERTED);
  const struct schema_format *f = asserted ? schema_format_find(name) : NULL;
  if (f) rule_add(c, n, OP_FORMAT, TYPES_STRING, m)->format = f;
  return true;
}

// ---- objects, arrays ----

static bool compile_required(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const str *names;
  if (!read_names(c, n, m, &names)) return false;
  if (n->resource->draft == SCHEMA_DRAFT_4 && !want(c, n, m, m->count, "a non-empty array of strings")) return false;
  struct schema_rule *r = rule_add(c, n, OP_REQUIRED, TYPES_OBJECT, m);
  r->required.list = names;
  r->required.count = m->count;
  return true;
}

static bool compile_unique(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  if (!want_boolean(c, n, m)) return false;
  if (m->type == JSON_TRUE) rule_add(c, n, OP_UNIQUE, TYPES_ARRAY, m);
  return true;
}

// ---- keywords that apply other schemas ----

// Returns the node for the schema of a keyword, or NULL if the keyword is absent.
static const struct schema_node *node_at(struct schema_compiler *c, const struct schema_node *n, str keyword) {
  const struct json *m = keyword_get(n, keyword);
  return m ? schema_node_of(c, m) : NULL;
}

static bool has_rule(const struct schema_node *n, enum schema_op op) {
  for (uint32_t i = 0; i < n->rule_count; i++)
    if (n->rules[i].op == op) return true;
  return false;
}

static bool list_nodes(struct schema_compiler *c, const struct schema_node *n, const struct json *m,
                       struct schema_nodes *out) {
  if (m->type != JSON_ARRAY || (!m->count && n->resource->draft >= SCHEMA_DRAFT_2020_12) ||
      (!m->count && !json_key_is(m, STR("items"))))
    return FAIL_AT(c, n, m, "%.*s must be a non-empty array of schemas", (int)m->key_n, m->key);
  out->list = ARENA_ARRAY(c->arena, const struct schema_node *, m->count + 1);
  JSON_EACH(e, m) out->list[out->count++] = schema_node_of(c, e);
  return true;
}

static bool compile_list(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  struct schema_nodes nodes = {0};
  if (!list_nodes(c, n, m, &nodes)) return false;
  enum schema_op op = json_key_is(m, STR("allOf")) ? OP_ALL : json_key_is(m, STR("anyOf")) ? OP_ANY : OP_ONE;
  rule_add(c, n, op, TYPES_ALL, m)->nodes = nodes;
  return true;
}

static bool compile_single(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  bool negation = json_key_is(m, STR("not"));
  rule_add(c, n, negation ? OP_NOT : OP_PROPERTY_NAMES, negation ? TYPES_ALL : TYPES_OBJECT, m)->node =
      schema_node_of(c, m);
  return true;
}

static bool compile_if(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  struct schema_rule *r = rule_add(c, n, OP_IF, TYPES_ALL, m);
  r->branch.condition = schema_node_of(c, m);
  r->branch.yes = node_at(c, n, STR("then"));
  r->branch.no = node_at(c, n, STR("else"));
  return true;
}

static bool compile_unevaluated(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  unsigned types = json_key_is(m, STR("unevaluatedItems")) ? TYPES_ARRAY : TYPES_OBJECT;
  rule_add(c, n, OP_UNEVALUATED, types, m)->node = schema_node_of(c, m);
  n->unevaluated |= (uint8_t)types;
  return true;
}

static bool compile_ref(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const struct schema_anchor *anchor;
  const struct schema_node *target = schema_resolve(c, n, m, &anchor);
  if (target) rule_add(c, n, OP_REF, TYPES_ALL, m)->node = target;
  return target != NULL;
}

// Compiles "$dynamicRef" or "$recursiveRef". If the target of the reference is not a dynamic anchor, the reference
// works like "$ref".
static bool compile_dynamic_ref(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const struct schema_anchor *anchor;
  const struct schema_node *target = schema_resolve(c, n, m, &anchor);
  if (!target) return false;
  if (json_key_is(m, STR("$recursiveRef")))
    for (const struct schema_anchor *a = target->resource->anchors; a; a = a->next)
      if (a->node == target && !a->name.n) anchor = a;
  bool dynamic = anchor && anchor->dynamic;
  struct schema_rule *r = rule_add(c, n, dynamic ? OP_DYNAMIC_REF : OP_REF, TYPES_ALL, m);
  if (!dynamic) {
    r->node = target;
    return true;
  }
  r->dynamic.node = target;
  r->dynamic.anchor = anchor->name;
  return true;
}

// ---- properties ----

static bool list_patterns(struct schema_compiler *c, struct schema_node *n, const struct json *m,
                          struct schema_rule *r) {
  struct schema_pattern *list = ARENA_ARRAY(c->arena, struct schema_pattern, m->count + 1);
  size_t count = 0;
  JSON_EACH(e, m) {
    char why[REGEX_WHY];
    const struct regex *x = regex_new(c->arena, json_key(e, c->arena), why);
    if (!x) return FAIL_AT(c, n, e, "%s", why);
    list[count++] = (struct schema_pattern){x, schema_node_of(c, e)};
  }
  r->properties.patterns = list;
  r->properties.pattern_count = count;
  return true;
}

// Compiles "properties", "patternProperties" and "additionalProperties" into one rule. The first of these keywords in
// the schema adds the rule; the others add nothing.
static bool compile_properties(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  bool map = !json_key_is(m, STR("additionalProperties"));
  if (map && m->type != JSON_OBJECT)
    return FAIL_AT(c, n, m, "%.*s must be an object of schemas", (int)m->key_n, m->key);
  if (has_rule(n, OP_PROPERTIES)) return true;
  const struct json *named = keyword_get(n, STR("properties"));
  const struct json *patterns = keyword_get(n, STR("patternProperties"));
  struct schema_rule *r = rule_add(c, n, OP_PROPERTIES, TYPES_OBJECT, m);
  struct name_set *names = name_set_new(c->arena, json_is(named, JSON_OBJECT) ? named->count : 0);
  if (json_is(named, JSON_OBJECT))
    JSON_EACH(e, named) name_set_add(names, json_key(e, c->arena), schema_node_of(c, e));
  name_set_sort(names);
  r->properties.named = names;
  r->properties.rest = node_at(c, n, STR("additionalProperties"));
  return !json_is(patterns, JSON_OBJECT) || list_patterns(c, n, patterns, r);
}

static bool compile_dependent(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  if (m->type != JSON_OBJECT) return FAIL_AT(c, n, m, "%.*s must be an object", (int)m->key_n, m->key);
  bool may_be_schema = !json_key_is(m, STR("dependentRequired"));
  struct schema_dependent *list = ARENA_ARRAY(c->arena, struct schema_dependent, m->count + 1);
  size_t count = 0;
  JSON_EACH(e, m) {
    struct schema_dependent *d = &list[count++];
    d->name = json_key(e, c->arena);
    if (e->type != JSON_ARRAY && may_be_schema) {
      d->node = schema_node_of(c, e);
      continue;
    }
    d->required_count = e->count;
    if (!read_names(c, n, e, &d->required)) return false;
  }
  struct schema_rule *r = rule_add(c, n, OP_DEPENDENT, TYPES_OBJECT, m);
  r->dependent.list = list;
  r->dependent.count = count;
  return true;
}

// ---- items ----

// Compiles the keywords for the elements of an array into one rule: "prefixItems" and "items". In drafts up to 2019-09,
// the corresponding keywords are "items" with an array and "additionalItems".
static bool compile_items(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  if (has_rule(n, OP_ITEMS)) return true;
  bool recent = n->resource->draft >= SCHEMA_DRAFT_2020_12;
  const struct json *items = keyword_get(n, STR("items"));
  const struct json *first = recent ? keyword_get(n, STR("prefixItems")) : items;
  const struct json *rest = recent ? items : keyword_get(n, STR("additionalItems"));
  bool list = recent ? first != NULL : json_is(first, JSON_ARRAY);
  if (!recent && !list) rest = items;  // without an array in "items", "additionalItems" has no effect
  struct schema_rule *r = rule_add(c, n, OP_ITEMS, TYPES_ARRAY, m);
  r->items.rest = rest ? schema_node_of(c, rest) : NULL;
  if (rest) r->items.rest_keyword = json_key(rest, c->arena);
  return !list || list_nodes(c, n, first, &r->items.first);
}

static bool compile_contains(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const struct json *min = keyword_get(n, STR("minContains")), *max = keyword_get(n, STR("maxContains"));
  struct schema_rule *r = rule_add(c, n, OP_CONTAINS, TYPES_ARRAY, m);
  r->contains.node = schema_node_of(c, m);
  r->contains.min = 1;
  r->contains.max = UINT64_MAX;
  r->contains.marks = n->resource->draft >= SCHEMA_DRAFT_2020_12;
  if (min) exact_count(min, &r->contains.min);  // ignores failures here: want_count reports an invalid value
  if (max) exact_count(max, &r->contains.max);
  return true;
}
