// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "schema/run.h"

// So many schemas within each other; the stack holds them.
enum { DEEPEST = 768, MOST_POINTER_BYTES = 4096, MOST_MESSAGE_BYTES = 512 };

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

static str place_of(struct schema_run *r, const struct json *root, const struct json *at, str before, str behind) {
  struct buf b;
  buf_init(&b, MOST_POINTER_BYTES);
  if (before.n) {
    buf_str(&b, before);
    buf_char(&b, '#');
  }
  schema_place(&b, root, at);
  if (behind.n) {
    buf_char(&b, '/');
    buf_str(&b, behind);
  }
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
  out->errors[out->count++] = (struct schema_error){
      .instance = place_of(r, r->root, at, STR_NONE, STR_NONE),
      .keyword = keyword,
      .schema = place_of(r, resource->document, f->node->source, resource->document_uri, keyword),
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
  for (size_t i = 0; i < into->words; i++) into->bits[i] |= from->bits[i];
}

// ---- evaluation ----

static const char *const type_names[] = {"null",     "a boolean", "a boolean", "a number",
                                         "a string", "an array",  "an object"};

static void put_types(struct buf *b, unsigned types) {
  static const struct {
    unsigned bit;
    const char *name;
  } all[] = {{1 << JSON_NULL, "null"},   {1 << JSON_TRUE, "a boolean"}, {TYPES_INTEGER, "an integer"},
             {TYPES_NUMBER, "a number"}, {TYPES_STRING, "a string"},    {TYPES_ARRAY, "an array"},
             {TYPES_OBJECT, "an object"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (types & all[i].bit) buf_printf(b, "%s%s", b->n ? " or " : "", all[i].name);
}

static bool wrong_type(struct schema_run *r, const struct schema_frame *f) {
  if (r->quiet) return false;
  struct buf wanted;
  buf_init(&wanted, MOST_MESSAGE_BYTES);
  put_types(&wanted, f->node->types);
  schema_report(r, f, STR("type"), f->value, "must be %.*s, but is %s", (int)wanted.n, wanted.p,
                f->node->types & TYPES_INTEGER && f->value->type == JSON_NUMBER ? "a number with a fraction"
                                                                                : type_names[f->value->type]);
  buf_done(&wanted);
  return false;
}

static inline bool type_fits(const struct schema_node *n, const struct json *v) {
  if (n->types >> v->type & 1) return true;
  if (v->type != JSON_NUMBER || !(n->types & TYPES_INTEGER)) return false;
  // Draft 4 went by how the number is written.
  if (n->resource->draft == SCHEMA_DRAFT_4)
    return !memchr(v->p, '.', v->n) && !memchr(v->p, 'e', v->n) && !memchr(v->p, 'E', v->n);
  return exact_integer(v);
}

static bool apply(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  switch ((enum schema_op)rule->op) {
  case OP_COUNT_MIN:
  case OP_COUNT_MAX:
  case OP_REQUIRED:
  case OP_PROPERTIES:
  case OP_PROPERTY_NAMES:
  case OP_DEPENDENT: return schema_apply_object(r, rule, f);
  case OP_UNIQUE:
  case OP_ITEMS:
  case OP_CONTAINS:
  case OP_UNEVALUATED: return schema_apply_array(r, rule, f);
  case OP_REF:
  case OP_DYNAMIC_REF:
  case OP_ALL:
  case OP_ANY:
  case OP_ONE:
  case OP_NOT:
  case OP_IF: return schema_apply_logic(r, rule, f);
  default: return schema_apply_value(r, rule, f);
  }
}

static bool apply_rules(struct schema_run *r, const struct schema_frame *f) {
  bool ok = true;
  unsigned type = f->value->type;
  for (uint32_t i = 0; i < f->node->rule_count; i++) {
    const struct schema_rule *rule = &f->node->rules[i];
    if (!(rule->types >> type & 1) || apply(r, rule, f)) continue;
    ok = false;
    if (schema_enough(r)) break;
  }
  return ok;
}

// A node that asks what is left sees what its own rules have dealt with, not what those around it have.
static bool apply_with_own_marks(struct schema_run *r, struct schema_frame *f) {
  struct schema_marks *outer = f->marks, own = schema_marks_new(r, f->value);
  f->marks = &own;
  bool ok = apply_rules(r, f);
  if (ok && outer) schema_marks_merge(outer, &own);
  return ok;
}

bool schema_eval(struct schema_run *r, const struct schema_node *n, const struct json *v,
                 const struct schema_scope *scope, struct schema_marks *marks) {
  struct schema_scope own = {scope, n->resource};
  struct schema_frame f = {n, v, scope && scope->resource == n->resource ? scope : &own, marks};
  if (!schema_spend(r, 1 + n->rule_count + (v->child ? 0 : v->n / 64))) return false;
  if (r->depth == DEEPEST) {
    r->over = true;
    return false;
  }
  if (n->never) return schema_report(r, &f, STR(""), v, "nothing is allowed here");
  if (!type_fits(n, v)) return wrong_type(r, &f);
  r->depth++;
  bool ok = n->unevaluated >> v->type & 1 ? apply_with_own_marks(r, &f) : apply_rules(r, &f);
  r->depth--;
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
  out->valid = out->undecided = out->more = false;
  out->count = 0;
  out->errors = NULL;
  struct schema_run r = {.schema = s, .root = instance, .scratch = scratch, .out = out};
  r.steps = s->options.max_steps + instance->n;
  r.regex.arena = scratch;
  out->valid = schema_eval(&r, s->start, instance, NULL, NULL) && !r.over;
  if (!r.over) return out->valid;
  out->undecided = true;
  out->count = 0;
  fault_set(&out->fault, FAULT_LIMIT, "the value cannot be checked against its schema with the work that is allowed");
  return false;
}
