// SPDX-License-Identifier: Apache-2.0
#include "app/cli/command.h"
#include "schema/schema.h"
#include "json/write.h"

static const struct command schema = {
    .usage = "validate --batch",
    .about =
        "Checks values against JSON Schemas. Reads lines {\"schema\", \"instance\"} from stdin, and prints a line\n"
        "{\"valid\", \"errors\"?} for each. An error has instance and schema (JSON Pointers), keyword and message.\n"
        "The line for an invalid or too large schema has code, schema and message. Never fetches anything.",
    .options = "b",
    .min = 1,
    .max = 1,
    .missing = "give the subcommand: validate --batch",
};

static void put_member(struct json_writer *w, str key, str value) {
  json_put_key(w, key);
  json_put_str(w, value);
}

static void put_fault(struct json_writer *w, const struct fault *f) {
  json_begin_object(w);
  put_member(w, STR("code"), str_of(fault_name(f->code)));
  put_member(w, STR("schema"), str_of(f->path));
  put_member(w, STR("message"), str_of(f->message));
  json_end_object(w);
}

static void put_errors(struct json_writer *w, const struct schema_result *r) {
  ASSERT(!r->valid && (r->undecided || r->count));
  if (r->undecided) put_fault(w, &r->fault);
  for (size_t i = 0; i < r->count; i++) {
    const struct schema_error *e = &r->errors[i];
    json_begin_object(w);
    put_member(w, STR("instance"), e->instance);
    put_member(w, STR("keyword"), e->keyword);
    put_member(w, STR("schema"), e->schema);
    put_member(w, STR("message"), e->message);
    json_end_object(w);
  }
}

// Appends the result of a check, or the fault that prevented the check. Exactly one of `r` and `f` is not NULL.
static void put_answer(struct buf *out, const struct schema_result *r, const struct fault *f) {
  ASSERT(!r != !f);
  struct json_writer w = json_writer(out);
  json_begin_object(&w);
  json_put_key(&w, STR("valid"));
  json_put_bool(&w, r && r->valid);
  if (!r || !r->valid) {
    json_put_key(&w, STR("errors"));
    json_begin_array(&w);
    if (r) put_errors(&w, r);
    else put_fault(&w, f);
    json_end_array(&w);
  }
  json_end_object(&w);
  buf_char(out, '\n');
}

// Reads a case: an object with "schema" and "instance". Returns false, with the reason in `f`, if the line is not a
// case.
static bool read_case(str line, struct arena *a, struct json **out_schema, struct json **out_instance,
                      struct fault *f) {
  struct json *v = json_parse(a, line, &json_default_limits, f);
  if (!v) return false;
  *out_schema = json_get(v, STR("schema"));
  *out_instance = json_get(v, STR("instance"));
  if (*out_schema && *out_instance) return true;
  fault_set(f, FAULT_INVALID, "each line must be a JSON object with \"schema\" and \"instance\"");
  return false;
}

static bool answer(void *ctx, str line, struct arena *a, struct buf *out) {
  struct json *source, *instance;
  struct fault f = {0};
  struct schema_result result;
  bool readable = read_case(line, a, &source, &instance, &f);
  struct schema *s = readable ? schema_compile(source, &schema_default_options, &f) : NULL;
  if (s) schema_validate(s, instance, a, &result);
  put_answer(out, s ? &result : NULL, s ? NULL : &f);
  schema_free(&s);
  return readable;
}

int cmd_schema(int argc, char **argv) {
  struct arguments args = {0};
  int status;
  if (!command_parse(&schema, argc, argv, &args, &status)) return status;
  if (strcmp(args.operands[0], "validate") != 0) return command_misused(argv[0], "unknown subcommand: use validate");
  if (!args.batch) return command_misused(argv[0], "give --batch: the cases are read from stdin, one per line");
  return command_each_line(answer, NULL);
}
