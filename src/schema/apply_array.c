// SPDX-License-Identifier: Apache-2.0
// Rules about the elements of an array, and about what the other rules have left of an array or an object.
#include "schema/run.h"

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
                         "must have at least %llu elements of the kind described, but has %llu",
                         (unsigned long long)min, (unsigned long long)found);
  if (found > max)
    return schema_report(r, f, STR("maxContains"), f->value,
                         "must have at most %llu elements of the kind described, but has %llu", (unsigned long long)max,
                         (unsigned long long)found);
  return true;
}

static bool apply_unevaluated(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  bool ok = true;
  size_t index = 0;
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

bool schema_apply_array(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  switch ((enum schema_op)rule->op) {
  case OP_ITEMS: return apply_items(r, rule, f);
  case OP_CONTAINS: return apply_contains(r, rule, f);
  case OP_UNIQUE: return apply_unique(r, rule, f);
  default: return apply_unevaluated(r, rule, f);
  }
}
