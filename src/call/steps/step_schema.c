// SPDX-License-Identifier: Apache-2.0
// Validates the arguments of a tool against its input schema before anything is sent to the server. The fault lists all
// errors, and contains the part of the schema that the arguments violate, so that the caller can correct all errors at
// once.
#include "base/assert.h"
#include "base/text/utf8.h"
#include "call/controls/checkers.h"
#include "call/steps/steps.h"
#include "json/write.h"

enum { SHOWN_SCHEMA = 16384, SHOWN_ERRORS = 16384 };

bool call_schema(struct call *c, const struct schema **out, struct fault *f) {
  return checkers_get(c->context->checkers, call_server(c), c->item, c->catalog->generation, out, f);
}

// ---- an invalid schema

static enum call_result refuse_schema(struct call *c, const struct fault *why) {
  struct fault f;
  struct buf details;
  buf_init(&details, 8 * sizeof f);
  struct json_writer w = json_writer(&details);
  json_begin_object(&w);
  json_member_str(&w, STR("pointer"), str_of(why->path));
  json_member_str(&w, STR("reason"), str_of(why->message));
  json_end_object(&w);
  fault_set(&f, FAULT_SCHEMA_INVALID, "the tool's input schema is invalid%s%s: %s", why->path[0] ? ", at " : "",
            why->path, why->message);
  fault_set_path(&f, c->about);
  enum call_result r = call_end(c, &f, RPC_INVALID_PARAMS, buf_view(&details));
  buf_done(&details);
  return r;
}

// ---- invalid arguments

void schema_put_errors(struct buf *out, const struct schema *s, const struct schema_result *r) {
  struct json_writer w = json_writer(out);
  bool more = r->more;
  json_begin_object(&w);
  json_put_key(&w, STR("errors"));
  json_begin_array(&w);
  for (size_t i = 0; i < r->count; i++) {
    const struct schema_error *e = &r->errors[i];
    if (out->n >= SHOWN_ERRORS) {
      more = true;
      break;
    }
    json_begin_object(&w);
    json_member_str(&w, STR("pointer"), e->instance);
    json_member_str(&w, STR("keyword"), e->keyword);
    json_member_str(&w, STR("message"), e->message);
    json_end_object(&w);
  }
  json_end_array(&w);
  if (more) json_member_bool(&w, STR("more_errors"), true);
  const struct json *part = schema_failing(s, r, SHOWN_SCHEMA);
  if (part) json_member_raw(&w, STR("schema"), json_span(part));
  json_end_object(&w);
}

static void describe(struct call *c, const struct schema_result *r, struct fault *f) {
  ASSERT(r->undecided || r->count);
  const struct schema_error *first = r->errors;
  if (r->undecided)
    fault_set(f, FAULT_ARGS_INVALID, "cannot check the arguments against the input schema: %s", r->fault.message);
  else if (!first->instance.n) fault_set(f, FAULT_ARGS_INVALID, "arguments: %.*s", STR_ARG(first->message));
  else
    fault_set(f, FAULT_ARGS_INVALID, "arguments%.*s: %.*s", STR_ARG(utf8_cut(first->instance, FAULT_CHARS / 4)),
              STR_ARG(first->message));
  fault_set_path(f, c->about);
}

static enum call_result refuse_arguments(struct call *c, const struct schema *s, const struct schema_result *r) {
  struct fault f;
  struct buf details;
  describe(c, r, &f);
  buf_init(&details, 4 * (SHOWN_SCHEMA + SHOWN_ERRORS));
  schema_put_errors(&details, s, r);
  struct call_context *x = c->context;
  enum call_result end = call_end(c, &f, RPC_INVALID_PARAMS, details.over ? STR_NONE : buf_view(&details));
  arena_reset(&x->scratch);
  buf_done(&details);
  return end;
}

// ---- null instead of a missing argument

// Returns whether an error of the validation is about an argument with the value null. Some clients send null for an
// optional argument that they want to omit. In direct mode, this is not an error if the schema names the argument.
static bool is_absent(const struct json *args, const struct schema_error *e) {
  if (!json_is(args, JSON_OBJECT) || !str_starts(e->instance, STR("/"))) return false;
  str name = str_from(e->instance, 1);
  return !memchr(name.p, '/', name.n) && !memchr(name.p, '~', name.n) && json_is(json_get(args, name), JSON_NULL);
}

static void forgive_nulls(const struct schema *s, const struct json *args, struct schema_result *r) {
  const struct json *required = json_get(schema_source(s), STR("required"));
  const struct json *properties = json_get(schema_source(s), STR("properties"));
  size_t left = 0;
  for (size_t i = 0; i < r->count; i++) {
    bool needed = false;
    if (json_is(required, JSON_ARRAY))
      JSON_EACH(it, required) needed |= json_equals_str(it, str_from(r->errors[i].instance, 1));
    needed |= !json_get(properties, str_from(r->errors[i].instance, 1));
    if (needed || !is_absent(args, &r->errors[i])) r->errors[left++] = r->errors[i];
  }
  r->count = left;
  r->valid = !left && !r->undecided && !r->more;
}

// ---- the step

static enum call_result run(struct call *c, void *state) {
  struct fault f;
  const struct schema *s;
  struct schema_result r;
  if (!c->item || !call_is_tool(c)) return CALL_NEXT;
  if (!call_schema(c, &s, &f)) return refuse_schema(c, &f);
  if (!s) return CALL_NEXT;
  const struct json *args = json_get(c->request->msg.params, STR("arguments"));
  schema_validate(s, args ? args : &json_empty_object, &c->context->scratch, &r);
  if (!r.valid && c->method->form == CALL_DIRECT) forgive_nulls(s, args, &r);
  if (!r.valid) return refuse_arguments(c, s, &r);
  arena_reset(&c->context->scratch);
  return CALL_NEXT;
}

const struct call_step step_schema = {
    .name = "schema",
    .does = "Validates the arguments against the input schema of the tool.",
    .run = run,
};
