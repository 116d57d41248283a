// SPDX-License-Identifier: Apache-2.0
// Keywords that apply other schemas.
#include "schema/schema_impl.h"

// The node of a keyword's schema; NULL when the keyword is not there.
static const struct schema_node *node_at(struct schema_compiler *c, const struct schema_node *n, str keyword) {
  const struct json *m = schema_keyword_get(n, keyword);
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
    return schema_fail_at(c, n, m, "%.*s must be an array of schemas that is not empty", (int)m->key_n, m->key);
  out->list = ARENA_ARRAY(c->arena, const struct schema_node *, m->count + 1);
  JSON_EACH(e, m) out->list[out->count++] = schema_node_of(c, e);
  return true;
}

bool schema_compile_list(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  struct schema_nodes nodes = {0};
  if (!list_nodes(c, n, m, &nodes)) return false;
  enum schema_op op = json_key_is(m, STR("allOf")) ? OP_ALL : json_key_is(m, STR("anyOf")) ? OP_ANY : OP_ONE;
  schema_rule_add(c, n, op, TYPES_ALL, m)->nodes = nodes;
  return true;
}

bool schema_compile_single(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  bool negation = json_key_is(m, STR("not"));
  schema_rule_add(c, n, negation ? OP_NOT : OP_PROPERTY_NAMES, negation ? TYPES_ALL : TYPES_OBJECT, m)->node =
      schema_node_of(c, m);
  return true;
}

bool schema_compile_if(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  struct schema_rule *r = schema_rule_add(c, n, OP_IF, TYPES_ALL, m);
  r->branch.condition = schema_node_of(c, m);
  r->branch.yes = node_at(c, n, STR("then"));
  r->branch.no = node_at(c, n, STR("else"));
  return true;
}

bool schema_compile_unevaluated(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  unsigned types = json_key_is(m, STR("unevaluatedItems")) ? TYPES_ARRAY : TYPES_OBJECT;
  schema_rule_add(c, n, OP_UNEVALUATED, types, m)->node = schema_node_of(c, m);
  n->unevaluated |= (uint8_t)types;
  return true;
}

bool schema_compile_ref(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const struct schema_anchor *anchor;
  const struct schema_node *target = schema_resolve(c, n, m, &anchor);
  if (target) schema_rule_add(c, n, OP_REF, TYPES_ALL, m)->node = target;
  return target != NULL;
}

// It looks for its anchor in the schemas that led here only when it names one that is made for that.
bool schema_compile_dynamic_ref(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const struct schema_anchor *anchor;
  const struct schema_node *target = schema_resolve(c, n, m, &anchor);
  if (!target) return false;
  if (json_key_is(m, STR("$recursiveRef")))
    for (const struct schema_anchor *a = target->resource->anchors; a; a = a->next)
      if (a->node == target && !a->name.n) anchor = a;
  bool dynamic = anchor && anchor->dynamic;
  struct schema_rule *r = schema_rule_add(c, n, dynamic ? OP_DYNAMIC_REF : OP_REF, TYPES_ALL, m);
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
    list[count].regex = regex_new(c->arena, json_key(e, c->arena), why);
    list[count].node = schema_node_of(c, e);
    if (!list[count++].regex) return schema_fail_at(c, n, e, "%s", why);
  }
  r->properties.patterns = list;
  r->properties.pattern_count = count;
  return true;
}

// "properties", "patternProperties" and "additionalProperties" are one rule, made when the first of them comes up.
bool schema_compile_properties(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  bool map = !json_key_is(m, STR("additionalProperties"));
  if (map && m->type != JSON_OBJECT)
    return schema_fail_at(c, n, m, "%.*s must be an object of schemas", (int)m->key_n, m->key);
  if (has_rule(n, OP_PROPERTIES)) return true;
  const struct json *named = schema_keyword_get(n, STR("properties"));
  const struct json *patterns = schema_keyword_get(n, STR("patternProperties"));
  struct schema_rule *r = schema_rule_add(c, n, OP_PROPERTIES, TYPES_OBJECT, m);
  struct names *names = names_new(c->arena, json_is(named, JSON_OBJECT) ? named->count : 0);
  if (json_is(named, JSON_OBJECT))
    JSON_EACH(e, named) names_add(names, json_key(e, c->arena), schema_node_of(c, e));
  names_sort(names);
  r->properties.named = names;
  r->properties.rest = node_at(c, n, STR("additionalProperties"));
  return !json_is(patterns, JSON_OBJECT) || list_patterns(c, n, patterns, r);
}

static bool compile_one_dependent(struct schema_compiler *c, struct schema_node *n, const struct json *e,
                                  bool may_be_schema, struct schema_dependent *out) {
  out->name = json_key(e, c->arena);
  if (e->type == JSON_ARRAY || !may_be_schema) {
    out->required_count = e->count;
    return schema_strings(c, n, e, &out->required);
  }
  out->node = schema_node_of(c, e);
  return true;
}

bool schema_compile_dependent(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  if (m->type != JSON_OBJECT) return schema_fail_at(c, n, m, "%.*s must be an object", (int)m->key_n, m->key);
  bool may_be_schema = !json_key_is(m, STR("dependentRequired"));
  struct schema_dependent *list = ARENA_ARRAY(c->arena, struct schema_dependent, m->count + 1);
  size_t count = 0;
  JSON_EACH(e, m)
    if (!compile_one_dependent(c, n, e, may_be_schema, &list[count++])) return false;
  struct schema_rule *r = schema_rule_add(c, n, OP_DEPENDENT, TYPES_OBJECT, m);
  r->dependent.list = list;
  r->dependent.count = count;
  return true;
}

// ---- items ----

// "prefixItems" and "items", which until 2019-09 were an array in "items" and "additionalItems", are one rule.
bool schema_compile_items(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  if (has_rule(n, OP_ITEMS)) return true;
  bool recent = n->resource->draft >= SCHEMA_DRAFT_2020_12;
  const struct json *items = schema_keyword_get(n, STR("items"));
  const struct json *first = recent ? schema_keyword_get(n, STR("prefixItems")) : items;
  const struct json *rest = recent ? items : schema_keyword_get(n, STR("additionalItems"));
  bool list = recent ? first != NULL : json_is(first, JSON_ARRAY);
  if (!recent && !list) rest = items;  // and "additionalItems" says nothing
  struct schema_rule *r = schema_rule_add(c, n, OP_ITEMS, TYPES_ARRAY, m);
  r->items.rest = rest ? schema_node_of(c, rest) : NULL;
  if (rest) r->items.rest_keyword = json_key(rest, c->arena);
  return !list || list_nodes(c, n, first, &r->items.first);
}

bool schema_compile_contains(struct schema_compiler *c, struct schema_node *n, const struct json *m) {
  const struct json *min = schema_keyword_get(n, STR("minContains")), *max = schema_keyword_get(n, STR("maxContains"));
  struct schema_rule *r = schema_rule_add(c, n, OP_CONTAINS, TYPES_ARRAY, m);
  r->contains.node = schema_node_of(c, m);
  r->contains.min = 1;
  r->contains.max = UINT64_MAX;
  r->contains.marks = n->resource->draft >= SCHEMA_DRAFT_2020_12;
  if (min) exact_count(min, &r->contains.min);  // what is no count was or will be refused
  if (max) exact_count(max, &r->contains.max);
  return true;
}
