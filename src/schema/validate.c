// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "schema/run.h"

enum {
  DEEPEST = 768,  // maximum number of nested evaluations, because each needs a stack frame
  MOST_POINTER_BYTES = 4096,
  MOST_MESSAGE_BYTES = 512,
};

bool schema_spend(struct schema_run *r, size_t steps) {
  if (r->over || r->steps < steps) {
    r->over = true;
    return false;
  }
  r->steps -= steps;
  return true;
}

// ---- errors ----

int schema_shown(str text) {
  size_t n = text.n < SCHEMA_SHOWN ? text.n : SCHEMA_SHOWN;
  while (n && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80) n--;
  return (int)n;
}

// Returns the JSON Pointer to `at`, preceded by `uri` and "#" unless `uri` is empty, and followed by "/" and `keyword`
// unless `keyword` is empty.
static str place_of(struct schema_run *r, str uri, const struct json *root, const struct json *at, str keyword) {
  struct buf b;
  buf_init(&b, MOST_POINTER_BYTES);
  if (uri.n) buf_printf(&b, "%.*s#", STR_ARG(uri));
  schema_place(&b, root, at);
  if (keyword.n) buf_printf(&b, "/%.*s", STR_ARG(keyword));
  str place = arena_str(r->scratch, buf_view(&b));
  buf_done(&b);
  return place;
}

bool schema_report(struct schema_run *r, const struct schema_frame *f, str keyword, const struct json *at,
                   const char *fmt, ...) {
  struct schema_result *out = r->out;
  size_t most = r->schema->options.max_errors;
  if (r->quiet || r->over) return false;
  if (out->count == most) {
    out->more = true;
    return false;
  }
  if (!out->errors) out->errors = ARENA_ARRAY(r->scratch, struct schema_error, most);
  char text[MOST_MESSAGE_BYTES];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  const struct schema_resource *resource = f->node->resource;
  ASSERT(out->count < most);
  out->errors[out->count++] = (struct schema_error){
      .instance = place_of(r, STR_NONE, r->root, at, STR_NONE),
      .keyword = keyword,
      .schema = place_of(r, resource->document_uri, resource->document, f->node->source, keyword),
      .message = arena_str(r->scratch, str_of(text)),
      .part = f->node->source,
  };
  return false;
}

// ---- marks ----

struct schema_marks schema_marks_new(struct schema_run *r, const struct json *v) {
  size_t words = (v->count + 63) / 64;
  schema_spend(r, words);
  return (struct schema_marks){ARENA_ARRAY(r->scratch, uint64_t, words + 1), words};
}

void schema_marks_merge(struct schema_marks *into, const struct schema_marks *from) {
  ASSERT(into->words == from->words);
  for (size_t i = 0; i < into->words; i++) into->bits[i] |= from->bits[i];
}

// ---- evaluation ----

static bool report_type(struct schema_run *r, const struct schema_frame *f) {
  static const char *const names[] = {"null",     "a boolean", "a boolean", "a number",
                                      "a string", "an array",  "an object"};
  static const struct {
    unsigned bit;
    const char *name;
  } all[] = {{1 << JSON_NULL, "null"},   {1 << JSON_TRUE, "a boolean"}, {TYPES_INTEGER, "an integer"},
             {TYPES_NUMBER, "a number"}, {TYPES_STRING, "a string"},    {TYPES_ARRAY, "an array"},
             {TYPES_OBJECT, "an object"}};
  if (r->quiet) return false;
  struct buf wanted;
  buf_init(&wanted, MOST_MESSAGE_BYTES);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (f->node->types & all[i].bit) buf_printf(&wanted, "%s%s", wanted.n ? " or " : "", all[i].name);
  schema_report(r, f, STR("type"), f->value, "must be %.*s, but is %s", (int)wanted.n, wanted.p,
                f->node->types & TYPES_INTEGER && f->value->type == JSON_NUMBER ? "a number with a fraction"
                                                                                : names[f->value->type]);
  buf_done(&wanted);
  return false;
}

static inline bool type_fits(const struct schema_node *n, const struct json *v) {
  if (n->types >> v->type & 1) return true;
  if (v->type != JSON_NUMBER || !(n->types & TYPES_INTEGER)) return false;
  // In draft 4, a number is an integer only if its text has no fraction and no exponent.
  if (n->resource->draft == SCHEMA_DRAFT_4)
    return !memchr(v->p, '.', v->n) && !memchr(v->p, 'e', v->n) && !memchr(v->p, 'E', v->n);
  return exact_integer(v);
}

static bool apply_rules(struct schema_run *r, const struct schema_frame *f) {
  bool ok = true;
  unsigned type = f->value->type;
  for (uint32_t i = 0; i < f->node->rule_count; i++) {
    const struct schema_rule *rule = &f->node->rules[i];
    if (!(rule->types >> type & 1) || schema_apply(r, rule, f)) continue;
    ok = false;
    if (schema_enough(r)) break;
  }
  return ok;
}

bool schema_eval(struct schema_run *r, const struct schema_node *n, const struct json *v,
                 const struct schema_scope *scope, struct schema_marks *marks) {
  struct schema_scope own = {scope, n->resource};
  struct schema_frame f = {n, v, scope && scope->resource == n->resource ? scope : &own, marks};
  if (!schema_spend(r, 1 + n->rule_count + (v->child ? 0 : v->n / 64))) return false;
  ASSERT(r->depth <= DEEPEST);
  if (r->depth == DEEPEST) {
    r->over = true;
    return false;
  }
  if (n->never) return schema_report(r, &f, STR(""), v, "no value is allowed here");
  if (!type_fits(n, v)) return report_type(r, &f);
  // An "unevaluated…" keyword needs marks of its own, because it ignores the marks of outer schemas.
  bool needs_marks = n->unevaluated >> v->type & 1;
  struct schema_marks own_marks;
  if (needs_marks) {
    own_marks = schema_marks_new(r, v);
    f.marks = &own_marks;
  }
  r->depth++;
  bool ok = apply_rules(r, &f);
  r->depth--;
  if (ok && needs_marks && marks) schema_marks_merge(marks, &own_marks);
  return ok && !r->over;
}

bool schema_test(struct schema_run *r, const struct schema_node *n, const struct json *v,
                 const struct schema_scope *scope, struct schema_marks *marks) {
  r->quiet++;
  bool ok = schema_eval(r, n, v, scope, marks);
  r->quiet--;
  return ok;
}

bool schema_validate(const struct schema *s, const struct json *instance, struct arena *scratch,
                     struct schema_result *out) {
  ASSERT(s->start && !(instance->flags & JSON_FOLDED));
  out->valid = out->undecided = out->more = false;
  out->count = 0;
  out->errors = NULL;
  struct schema_run r = {.schema = s, .root = instance, .scratch = scratch, .out = out};
  r.steps = s->options.max_steps + instance->n;
  r.regex.arena = scratch;
  out->valid = schema_eval(&r, s->start, instance, NULL, NULL) && !r.over;
  ASSERT(!r.depth && !r.quiet);
  if (!r.over) return out->valid;
  out->undecided = true;
  out->count = 0;
  fault_set(&out->fault, FAULT_LIMIT, "checking the value against its schema takes too many steps");
  return false;
}
