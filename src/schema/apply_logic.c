// SPDX-License-Identifier: Apache-2.0
// Rules that apply other schemas to the same value.
#include "schema/run.h"

// A schema that may fail has marks of its own, which count when it holds.
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

static bool admits(const struct schema_node *n, const struct json *v) {
  return !n->never && (n->types >> v->type & 1 || (v->type == JSON_NUMBER && n->types & TYPES_INTEGER));
}

// None of several schemas holds. When one alone is meant for values of this type, what it has to say is to the point.
static bool none_holds(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  if (r->quiet) return false;
  const struct schema_node *meant = NULL;
  size_t count = 0;
  for (size_t i = 0; i < rule->nodes.count; i++) {
    if (!admits(rule->nodes.list[i], f->value)) continue;
    meant = rule->nodes.list[i];
    count++;
  }
  if (count == 1) return schema_eval(r, meant, f->value, f->scope, NULL) && false;
  return schema_report(r, f, rule->keyword, f->value, "must be valid by one of the %zu schemas listed, and is by none",
                       rule->nodes.count);
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
  struct schema_marks marks, kept = {0};
  for (size_t i = 0; i < rule->nodes.count && !r->over; i++) {
    if (!test_branch(r, rule->nodes.list[i], f, &marks)) continue;
    if (held != SIZE_MAX)
      return schema_report(
          r, f, rule->keyword, f->value,
          "must be valid by exactly one of the %zu schemas listed, but is by number %zu and number %zu",
          rule->nodes.count, held + 1, i + 1);
    held = i;
    if (f->marks) kept = marks;
  }
  if (held == SIZE_MAX) return none_holds(r, rule, f);
  if (f->marks) schema_marks_merge(f->marks, &kept);
  return true;
}

static bool apply_not(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  if (!schema_test(r, rule->node, f->value, f->scope, NULL)) return true;
  return schema_report(r, f, rule->keyword, f->value, "is what is excluded here");
}

static bool apply_if(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  struct schema_marks marks;
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

// The outermost resource on the way here that has the anchor.
static bool apply_dynamic(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  const struct schema_node *target = rule->dynamic.node;
  for (const struct schema_scope *s = f->scope; s; s = s->up) {
    const struct schema_node *n = schema_spend(r, 1) ? find_dynamic(r, s->resource, rule->dynamic.anchor) : NULL;
    if (n) target = n;
  }
  return schema_eval(r, target, f->value, f->scope, f->marks);
}

bool schema_apply_logic(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  switch ((enum schema_op)rule->op) {
  case OP_ALL: return apply_all(r, rule, f);
  case OP_ANY: return apply_any(r, rule, f);
  case OP_ONE: return apply_one(r, rule, f);
  case OP_NOT: return apply_not(r, rule, f);
  case OP_IF: return apply_if(r, rule, f);
  case OP_DYNAMIC_REF: return apply_dynamic(r, rule, f);
  default: return schema_eval(r, rule->node, f->value, f->scope, f->marks);
  }
}
