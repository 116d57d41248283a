// SPDX-License-Identifier: Apache-2.0
#include "surface/meta/plan_args.h"

#include "call/controls/checkers.h"
#include "call/controls/literals.h"
#include "surface/surface_state.h"
#include "json/pointer.h"

// Repairs arguments as a call does if tolerant_args is set. Returns the arguments to validate.
static const struct json *repair(struct surface *d, const struct schema *s, const struct json *args) {
  struct literal_repairs repairs = {0};
  struct fault f;
  str text;
  if (!d->calls.controls.tolerant_args || !literal_suspects(args)) return args;
  if (!literal_repair(args, schema_source(s), &d->scratch, &text, &repairs)) return args;
  const struct json *repaired = json_parse(&d->scratch, text, &json_default_limits, &f);
  return repaired ? repaired : args;
}

// Returns whether an error remains an error if members are added to the arguments, or to objects inside them.
static bool is_final(const struct json *args, const struct schema_error *e) {
  static const str final[] = {STR("type"),          STR("additionalProperties"),
                              STR("propertyNames"), STR("maxProperties"),
                              STR("maxItems"),      STR("minItems")};
  const struct json *at = json_pointer_find((struct json *)args, e->instance);
  if (!json_is(at, JSON_OBJECT) && !json_is(at, JSON_ARRAY)) return true;
  for (size_t i = 0; i < sizeof final / sizeof *final; i++)
    if (str_eq(e->keyword, final[i])) return true;
  return false;
}

static void refuse_schema(struct plan_args *out) {
  struct fault why = out->fault;
  out->code = "SCHEMA_INVALID";
  fault_set(&out->fault, FAULT_SCHEMA_INVALID, "the tool's input schema is invalid: %s", why.message);
}

void plan_args_check(struct surface *d, str server, const struct item *tool, const struct json *args, bool partial,
                     struct plan_args *out) {
  const struct schema *s;
  struct schema_result r;
  *out = (struct plan_args){0};
  uint64_t generation = upstreams_catalog(d->upstreams)->generation;
  if (!checkers_get(d->calls.checkers, server, tool, generation, &s, &out->fault)) {
    refuse_schema(out);
    return;
  }
  if (!s) return;
  args = args ? repair(d, s, args) : &json_empty_object;
  if (schema_validate(s, args, &d->scratch, &r)) return;
  out->errors = r.errors;
  for (size_t i = 0; i < r.count; i++)
    if (!partial || is_final(args, &r.errors[i])) out->errors[out->count++] = r.errors[i];
  if (r.undecided) out->fault = r.fault;
  if (out->count || r.undecided) out->code = "ARGS_INVALID";
}
