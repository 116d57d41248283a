// SPDX-License-Identifier: Apache-2.0
// Rules about the members of an object, and about the number of members or elements.
#include "schema/run.h"

static bool apply_count(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  uint64_t n = f->value->count;
  bool min = rule->op == OP_COUNT_MIN;
  if (min ? n >= rule->count : n <= rule->count) return true;
  return schema_report(r, f, rule->keyword, f->value, "must have at %s %llu %s, but has %llu", min ? "least" : "most",
                       (unsigned long long)rule->count, f->value->type == JSON_ARRAY ? "elements" : "properties",
                       (unsigned long long)n);
}

// A member by name; the search through the others is paid for.
static const struct json *find_member(struct schema_run *r, const struct json *object, str name) {
  return schema_spend(r, object->count / 8) ? json_get(object, name) : NULL;
}

static bool want_members(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f,
                         const str *names, size_t count, str because) {
  bool ok = true;
  for (size_t i = 0; i < count; i++) {
    if (find_member(r, f->value, names[i])) continue;
    ok = because.p ? schema_report(r, f, rule->keyword, f->value,
                                   "the property \"%.*s\" is missing, which must be there beside \"%.*s\"",
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
    if (!find_member(r, f->value, d->name)) continue;
    ok &= d->node ? schema_eval(r, d->node, f->value, f->scope, f->marks)
                  : want_members(r, rule, f, d->required, d->required_count, d->name);
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

static bool apply_rest(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f,
                       const struct json *m, str key) {
  const struct schema_node *rest = rule->properties.rest;
  if (!rest->never) return schema_eval(r, rest, m, f->scope, NULL);
  return schema_report(r, f, STR("additionalProperties"), m, "the property \"%.*s\" is not known", SHOWN(key));
}

static bool apply_properties(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  size_t index = 0;
  for (const struct json *m = f->value->child; m; m = m->next, index++) {
    bool escaped = m->flags & JSON_KEY_ESCAPED;
    if (!schema_spend(r, 1 + m->key_n / (escaped ? 4 : 16))) return false;
    str key = escaped ? json_key(m, r->scratch) : (str){m->key, m->key_n};
    const struct name *known = names_find(rule->properties.named, key);
    bool seen = known != NULL;
    if (known) ok &= schema_eval(r, known->value, m, f->scope, NULL);
    if (rule->properties.pattern_count) ok &= apply_patterns(r, rule, f, m, key, &seen);
    if (!seen && rule->properties.rest) {
      ok &= apply_rest(r, rule, f, m, key);
      seen = true;
    }
    if (seen && f->marks) schema_mark(f->marks, index);
    if (!ok && schema_enough(r)) return false;
  }
  return ok;
}

// A key as the string that it is in the text.
static struct json key_as_string(const struct json *m) {
  return (struct json){
      .p = m->key - 1, .n = m->key_n + 2, .type = JSON_STRING, .flags = m->flags & JSON_KEY_ESCAPED ? JSON_ESCAPED : 0};
}

static bool apply_property_names(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  JSON_EACH(m, f->value) {
    struct json key = key_as_string(m);
    if (schema_test(r, rule->node, &key, f->scope, NULL)) continue;
    ok = schema_report(r, f, rule->keyword, m, "\"%.*s\" is not allowed as a name here",
                       SHOWN(((str){m->key, m->key_n})));
    if (schema_enough(r)) break;
  }
  return ok;
}

bool schema_apply_object(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  switch ((enum schema_op)rule->op) {
  case OP_REQUIRED: return want_members(r, rule, f, rule->required.list, rule->required.count, STR_NONE);
  case OP_PROPERTIES: return apply_properties(r, rule, f);
  case OP_PROPERTY_NAMES: return apply_property_names(r, rule, f);
  case OP_DEPENDENT: return apply_dependent(r, rule, f);
  default: return apply_count(r, rule, f);
  }
}
