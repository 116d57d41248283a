// SPDX-License-Identifier: Apache-2.0
// Applies the rules of a compiled schema to a value.
#include "schema/run.h"
#include "json/text.h"

enum { MOST_ENUM_BYTES_SHOWN = 160 };

// ---- rules for numbers, strings and whole values ----

// Returns the text of a string. Charges steps if the text must be unescaped.
static str text_of(struct schema_run *r, const struct json *v) {
  str text = STR_NONE;
  if (!(v->flags & JSON_ESCAPED) || schema_spend(r, v->n / 4)) json_string(v, r->scratch, &text);
  return text;
}

static bool is_one_of(struct schema_run *r, const struct schema_rule *rule, const struct json *v) {
  if (rule->strings) return v->type == JSON_STRING && name_set_find(rule->strings, text_of(r, v));
  if (!schema_spend(r, rule->source->n / 16)) return false;
  JSON_EACH(e, rule->source)
    if (json_same(e, v)) return true;
  return false;
}

static bool apply_enum(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  if (is_one_of(r, rule, f->value)) return true;
  if (r->quiet) return false;
  struct buf list;
  buf_init(&list, 65536);
  JSON_EACH(e, rule->source) {
    if (list.n + e->n > MOST_ENUM_BYTES_SHOWN) {
      buf_str(&list, list.n ? STR(", ...") : STR("the values listed"));
      break;
    }
    buf_printf(&list, "%s%.*s", list.n ? ", " : "", (int)e->n, e->p);
  }
  schema_report(r, f, rule->keyword, f->value, "must be one of %.*s", (int)list.n, list.n ? list.p : "");
  buf_done(&list);
  return false;
}

static bool apply_const(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  if (!schema_spend(r, rule->source->n / 16) || json_same(rule->source, f->value)) return true;
  return schema_report(r, f, rule->keyword, f->value, "must be %.*s", SHOWN(json_span(rule->source)));
}

static bool apply_bound(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  ASSERT(rule->source->type == JSON_NUMBER && f->value->type == JSON_NUMBER);
  int order = exact_compare(f->value, rule->source);
  const char *relation = "at least";
  bool ok = order >= 0;
  if (rule->op == OP_MAXIMUM) ok = order <= 0, relation = "at most";
  if (rule->op == OP_EXCLUSIVE_MINIMUM) ok = order > 0, relation = "above";
  if (rule->op == OP_EXCLUSIVE_MAXIMUM) ok = order < 0, relation = "below";
  return ok ||
         schema_report(r, f, rule->keyword, f->value, "must be %s %.*s", relation, SHOWN(json_span(rule->source)));
}

static bool apply_multiple(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  if (!schema_spend(r, f->value->n / 2) || exact_multiple(f->value, &rule->divisor)) return true;
  return schema_report(r, f, rule->keyword, f->value, "must be a multiple of %.*s", SHOWN(json_span(rule->source)));
}

// Returns the number of code points in a string.
static uint64_t length_of(const struct json *v) {
  ASSERT(v->type == JSON_STRING && v->n >= 2);
  str text = {v->p + 1, v->n - 2};
  uint64_t count = 0;
  if (v->flags & JSON_ESCAPED) {
    for (; text.n; count++) json_text_next(&text);
    return count;
  }
  for (size_t i = 0; i < text.n; i++) count += ((unsigned char)text.p[i] & 0xc0) != 0x80;
  return count;
}

static bool apply_length(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  uint64_t n = length_of(f->value);
  bool min = rule->op == OP_LENGTH_MIN;
  if (!schema_spend(r, f->value->n / 64) || (min ? n >= rule->count : n <= rule->count)) return true;
  return schema_report(r, f, rule->keyword, f->value, "must have at %s %llu characters, but has %llu",
                       min ? "least" : "most", (unsigned long long)rule->count, (unsigned long long)n);
}

static bool apply_pattern(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  str text = text_of(r, f->value);
  enum regex_verdict verdict = regex_match(rule->regex, text, &r->regex, &r->steps);
  if (verdict == REGEX_YES) return true;
  if (verdict == REGEX_LIMIT) r->over = true;
  return schema_report(r, f, rule->keyword, f->value, "must match the pattern %.*s", SHOWN(json_span(rule->source)));
}

static bool apply_format(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  str text = text_of(r, f->value);
  if (!schema_spend(r, text.n / 4) || rule->format->check(text)) return true;
  return schema_report(r, f, rule->keyword, f->value, "must have the format %s", rule->format->name);
}

// ---- objects ----

static bool apply_count(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  uint64_t n = f->value->count;
  bool min = rule->op == OP_COUNT_MIN;
  if (min ? n >= rule->count : n <= rule->count) return true;
  return schema_report(r, f, rule->keyword, f->value, "must have at %s %llu %s, but has %llu", min ? "least" : "most",
                       (unsigned long long)rule->count, f->value->type == JSON_ARRAY ? "elements" : "properties",
                       (unsigned long long)n);
}

// Returns the member `name`, or NULL if it is missing. Charges steps for the search.
static const struct json *find_member(struct schema_run *r, const struct json *object, str name) {
  return schema_spend(r, object->count / 8) ? json_get(object, name) : NULL;
}

static bool require_members(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f,
                            const str *names, size_t count, str because) {
  bool ok = true;
  for (size_t i = 0; i < count; i++) {
    if (find_member(r, f->value, names[i])) continue;
    ok = because.p
             ? schema_report(r, f, rule->keyword, f->value, "the property \"%.*s\" is missing, which \"%.*s\" requires",
                             SHOWN(names[i]), SHOWN(because))
             : schema_report(r, f, rule->keyword, f->value, "the property \"%.*s\" is missing", SHOWN(names[i]));
    if (schema_enough(r)) break;
  }
  return ok;
}

static bool apply_dependent(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  for (size_t i = 0; i < rule->dependent.count && (ok || !schema_enough(r)); i++) {
    const struct schema_dependent *d = &rule->dependent.list[i];
    ASSERT(!d->node || !d->required_count);
    if (!find_member(r, f->value, d->name)) continue;
    ok &= d->node ? schema_eval(r, d->node, f->value, f->scope, f->marks)
                  : require_members(r, rule, f, d->required, d->required_count, d->name);
  }
  return ok;
}

static bool apply_patterns(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f,
                           const struct json *m, str key, bool *seen) {
  bool ok = true;
  for (size_t i = 0; i < rule->properties.pattern_count; i++) {
    const struct schema_pattern *p = &rule->properties.patterns[i];
    enum regex_verdict verdict = regex_match(p->regex, key, &r->regex, &r->steps);
    if (verdict == REGEX_LIMIT) r->over = true;
    if (verdict != REGEX_YES) continue;
    *seen = true;
    ok &= schema_eval(r, p->node, m, f->scope, NULL);
  }
  return ok;
}

static bool apply_properties(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  const struct schema_node *rest = rule->properties.rest;
  bool ok = true;
  size_t index = 0;
  for (const struct json *m = f->value->child; m; m = m->next, index++) {
    bool escaped = m->flags & JSON_KEY_ESCAPED;
    if (!schema_spend(r, 1 + m->key_n / (escaped ? 4 : 16))) return false;
    str key = escaped ? json_key(m, r->scratch) : (str){m->key, m->key_n};
    const struct name_set_entry *known = name_set_find(rule->properties.named, key);
    bool seen = known != NULL;
    if (known) ok &= schema_eval(r, known->value, m, f->scope, NULL);
    if (rule->properties.pattern_count) ok &= apply_patterns(r, rule, f, m, key, &seen);
    if (!seen && rest) {
      if (rest->never)
        ok = schema_report(r, f, STR("additionalProperties"), m, "the property \"%.*s\" is not known", SHOWN(key));
      else ok &= schema_eval(r, rest, m, f->scope, NULL);
      seen = true;
    }
    if (seen && f->marks) schema_mark(f->marks, index);
    if (!ok && schema_enough(r)) return false;
  }
  return ok;
}

static bool apply_property_names(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  JSON_EACH(m, f->value) {
    // Makes a node of the key: a JSON string whose span is the key in the text, with its quotes.
    struct json key = {.p = m->key - 1, .n = m->key_n + 2, .type = JSON_STRING};
    if (m->flags & JSON_KEY_ESCAPED) key.flags = JSON_ESCAPED;
    if (schema_test(r, rule->node, &key, f->scope, NULL)) continue;
    ok = schema_report(r, f, rule->keyword, m, "\"%.*s\" is not allowed as a name here",
                       SHOWN(((str){m->key, m->key_n})));
    if (schema_enough(r)) break;
  }
  return ok;
}

// ---- arrays ----

static bool apply_unique(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  size_t first, second;
  bool twins = schema_find_twins(f->value, r->scratch, &r->steps, &first, &second);
  if (r->steps == SIZE_MAX) {
    r->steps = 0;
    r->over = true;
  }
  if (!twins) return true;
  return schema_report(r, f, rule->keyword, json_at(f->value, second), "elements %zu and %zu are the same", first,
                       second);
}

static bool apply_items(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  size_t index = 0;
  const struct schema_nodes *first = &rule->items.first;
  const struct schema_node *rest = rule->items.rest;
  for (const struct json *e = f->value->child; e; e = e->next, index++) {
    const struct schema_node *n = index < first->count ? first->list[index] : rest;
    if (!n) break;
    if (n == rest && rest->never)
      ok = schema_report(r, f, rule->items.rest_keyword, e, "there must be at most %zu elements", first->count);
    else ok &= schema_eval(r, n, e, f->scope, NULL);
    if (f->marks) schema_mark(f->marks, index);
    if (!ok && schema_enough(r)) return false;
  }
  return ok;
}

static bool apply_contains(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  uint64_t found = 0, min = rule->contains.min, max = rule->contains.max;
  struct schema_marks *marks = rule->contains.marks ? f->marks : NULL;
  size_t index = 0;
  for (const struct json *e = f->value->child; e && !r->over; e = e->next, index++) {
    if (!schema_test(r, rule->contains.node, e, f->scope, NULL)) continue;
    found++;
    if (marks) schema_mark(marks, index);
    if (!marks && max == UINT64_MAX && found >= min) break;
  }
  if (found < min)
    return schema_report(r, f, min == 1 ? rule->keyword : STR("minContains"), f->value,
                         "must have at least %llu elements that match contains, but has %llu", (unsigned long long)min,
                         (unsigned long long)found);
  if (found > max)
    return schema_report(r, f, STR("maxContains"), f->value,
                         "must have at most %llu elements that match contains, but has %llu", (unsigned long long)max,
                         (unsigned long long)found);
  return true;
}

// Applies "unevaluatedProperties" or "unevaluatedItems" to the children that no other rule has evaluated.
static bool apply_unevaluated(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  size_t index = 0;
  ASSERT(f->marks);
  for (const struct json *e = f->value->child; e; e = e->next, index++) {
    if (schema_marked(f->marks, index)) continue;
    if (rule->node->never)
      ok = e->key ? schema_report(r, f, rule->keyword, e, "the property \"%.*s\" is not known",
                                  SHOWN(((str){e->key, e->key_n})))
                  : schema_report(r, f, rule->keyword, e, "element %zu is one too many", index);
    else ok &= schema_eval(r, rule->node, e, f->scope, NULL);
    schema_mark(f->marks, index);
    if (!ok && schema_enough(r)) return false;
  }
  return ok;
}

// ---- schemas applied to the same value ----

// Tests whether the value matches a schema, without reporting errors. Records in `out_marks` which children the schema
// evaluated; the caller adds these marks to those of the frame if the value matches.
static bool test_branch(struct schema_run *r, const struct schema_node *n, const struct schema_frame *f,
                        struct schema_marks *out_marks) {
  if (!f->marks) return schema_test(r, n, f->value, f->scope, NULL);
  *out_marks = schema_marks_new(r, f->value);
  return schema_test(r, n, f->value, f->scope, out_marks);
}

static bool apply_all(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  for (size_t i = 0; i < rule->nodes.count && (ok || !schema_enough(r)); i++)
    ok &= schema_eval(r, rule->nodes.list[i], f->value, f->scope, f->marks);
  return ok;
}

// Reports that the value matches none of the rule's schemas. If only one of these schemas accepts the type of the
// value, reports the errors of that schema instead, because they are more precise.
static bool none_holds(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  if (r->quiet) return false;
  const struct json *v = f->value;
  const struct schema_node *candidate = NULL;
  size_t count = 0;
  for (size_t i = 0; i < rule->nodes.count; i++) {
    const struct schema_node *n = rule->nodes.list[i];
    if (n->never || !(n->types >> v->type & 1 || (v->type == JSON_NUMBER && n->types & TYPES_INTEGER))) continue;
    candidate = n;
    count++;
  }
  if (count != 1)
    return schema_report(r, f, rule->keyword, v, "must match one of the %zu schemas listed, but matches none",
                         rule->nodes.count);
  schema_eval(r, candidate, v, f->scope, NULL);
  return false;
}

static bool apply_any(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool any = false;
  for (size_t i = 0; i < rule->nodes.count && !r->over; i++) {
    struct schema_marks marks;
    if (!test_branch(r, rule->nodes.list[i], f, &marks)) continue;
    if (!f->marks) return true;
    schema_marks_merge(f->marks, &marks);
    any = true;
  }
  return any || none_holds(r, rule, f);
}

static bool apply_one(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  size_t held = SIZE_MAX;
  struct schema_marks marks, held_marks = {0};
  for (size_t i = 0; i < rule->nodes.count && !r->over; i++) {
    if (!test_branch(r, rule->nodes.list[i], f, &marks)) continue;
    if (held != SIZE_MAX)
      return schema_report(r, f, rule->keyword, f->value,
                           "must match exactly one of the %zu schemas listed, but matches number %zu and number %zu",
                           rule->nodes.count, held + 1, i + 1);
    held = i;
    if (f->marks) held_marks = marks;
  }
  if (held == SIZE_MAX) return none_holds(r, rule, f);
  if (f->marks) schema_marks_merge(f->marks, &held_marks);
  return true;
}

static bool apply_not(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  if (!schema_test(r, rule->node, f->value, f->scope, NULL)) return true;
  return schema_report(r, f, rule->keyword, f->value, "matches the schema that \"not\" excludes");
}

static bool apply_if(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  struct schema_marks marks;
  ASSERT(rule->branch.condition);
  bool held = test_branch(r, rule->branch.condition, f, &marks);
  if (held && f->marks) schema_marks_merge(f->marks, &marks);
  const struct schema_node *next = held ? rule->branch.yes : rule->branch.no;
  return !next || schema_eval(r, next, f->value, f->scope, f->marks);
}

static const struct schema_node *find_dynamic(struct schema_run *r, const struct schema_resource *resource, str name) {
  for (const struct schema_anchor *a = resource->anchors; a && schema_spend(r, 1); a = a->next)
    if (a->dynamic && str_eq(a->name, name)) return a->node;
  return NULL;
}

// Applies the target schema of a dynamic reference. If several resources in scope have the anchor, the outermost of
// them counts.
static bool apply_dynamic(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  const struct schema_node *target = rule->dynamic.node;
  for (const struct schema_scope *s = f->scope; s; s = s->up) {
    const struct schema_node *n = schema_spend(r, 1) ? find_dynamic(r, s->resource, rule->dynamic.anchor) : NULL;
    if (n) target = n;
  }
  return schema_eval(r, target, f->value, f->scope, f->marks);
}

bool schema_apply(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  switch ((enum schema_op)rule->op) {
  case OP_ENUM: return apply_enum(r, rule, f);
  case OP_CONST: return apply_const(r, rule, f);
  case OP_MINIMUM:
  case OP_MAXIMUM:
  case OP_EXCLUSIVE_MINIMUM:
  case OP_EXCLUSIVE_MAXIMUM: return apply_bound(r, rule, f);
  case OP_MULTIPLE: return apply_multiple(r, rule, f);
  case OP_LENGTH_MIN:
  case OP_LENGTH_MAX: return apply_length(r, rule, f);
  case OP_PATTERN: return apply_pattern(r, rule, f);
  case OP_FORMAT: return apply_format(r, rule, f);
  case OP_COUNT_MIN:
  case OP_COUNT_MAX: return apply_count(r, rule, f);
  case OP_REQUIRED: return require_members(r, rule, f, rule->required.list, rule->required.count, STR_NONE);
  case OP_UNIQUE: return apply_unique(r, rule, f);
  case OP_PROPERTIES: return apply_properties(r, rule, f);
  case OP_PROPERTY_NAMES: return apply_property_names(r, rule, f);
  case OP_DEPENDENT: return apply_dependent(r, rule, f);
  case OP_ITEMS: return apply_items(r, rule, f);
  case OP_CONTAINS: return apply_contains(r, rule, f);
  case OP_REF: return schema_eval(r, rule->node, f->value, f->scope, f->marks);
  case OP_DYNAMIC_REF: return apply_dynamic(r, rule, f);
  case OP_ALL: return apply_all(r, rule, f);
  case OP_ANY: return apply_any(r, rule, f);
  case OP_ONE: return apply_one(r, rule, f);
  case OP_NOT: return apply_not(r, rule, f);
  case OP_IF: return apply_if(r, rule, f);
  case OP_UNEVALUATED: return apply_unevaluated(r, rule, f);
  }
  ASSERT(!"a known rule");
}
