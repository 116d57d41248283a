// SPDX-License-Identifier: Apache-2.0
// Rules about a number, a string, or any value as a whole.
#include "base/buf.h"
#include "schema/run.h"
#include "json/text.h"

enum { ENUM_SHOWN = 160 };

// The text of a string; to unescape it is paid for.
static str text_of(struct schema_run *r, const struct json *v) {
  str text = STR_NONE;
  if (!(v->flags & JSON_ESCAPED) || schema_spend(r, v->n / 4)) json_string(v, r->scratch, &text);
  return text;
}

static bool is_one_of(struct schema_run *r, const struct schema_rule *rule, const struct json *v) {
  if (rule->strings) return v->type == JSON_STRING && names_find(rule->strings, text_of(r, v));
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
    if (list.n + e->n > ENUM_SHOWN) {
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

// In characters, which are code points.
static uint64_t length_of(const struct json *v) {
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

bool schema_apply_value(struct schema_run *r, const struct schema_rule *rule, const struct schema_frame *f) {
  switch ((enum schema_op)rule->op) {
  case OP_ENUM: return apply_enum(r, rule, f);
  case OP_CONST: return apply_const(r, rule, f);
  case OP_MULTIPLE: return apply_multiple(r, rule, f);
  case OP_LENGTH_MIN:
  case OP_LENGTH_MAX: return apply_length(r, rule, f);
  case OP_PATTERN: return apply_pattern(r, rule, f);
  case OP_FORMAT: return apply_format(r, rule, f);
  default: return apply_bound(r, rule, f);
  }
}
