// SPDX-License-Identifier: Apache-2.0
// schema/: what is refused, what an error says, and that nothing keeps it busy.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "beside.h"
#include "schema/schema.h"
#include "json/pointer.h"

struct lab {
  struct arena arena;
  struct schema_options options;
  struct schema *schema;
  struct schema_result result;
  struct fault fault;
};

static int setup(void **state) {
  struct lab *lab = MEM_NEW(struct lab);
  arena_init(&lab->arena);
  lab->options = schema_default_options;
  *state = lab;
  return 0;
}

static int teardown(void **state) {
  struct lab *lab = *state;
  schema_free(&lab->schema);
  arena_done(&lab->arena);
  mem_free(lab);
  return 0;
}

static struct json *parse(struct lab *lab, str text) {
  struct json *v = json_parse(&lab->arena, text, &json_default_limits, &lab->fault);
  if (!v) fail_msg("%s: %s", lab->fault.message, lab->fault.path);
  return v;
}

static bool compile(struct lab *lab, str text) {
  schema_free(&lab->schema);
  lab->fault = (struct fault){0};
  lab->schema = schema_compile(parse(lab, text), &lab->options, &lab->fault);
  return lab->schema != NULL;
}

static void use(struct lab *lab, const char *text) {
  if (!compile(lab, str_of(text))) fail_msg("%s: %s at '%s'", text, lab->fault.message, lab->fault.path);
}

static bool valid(struct lab *lab, const char *text) {
  return schema_validate(lab->schema, parse(lab, str_of(text)), &lab->arena, &lab->result);
}

static void assert_str(str s, const char *expected) {
  if (!str_eq(s, str_of(expected))) fail_msg("'%.*s' is not '%s'", STR_ARG(s), expected);
}

static void assert_error(struct lab *lab, size_t i, const char *instance, const char *keyword, const char *schema) {
  assert_true(i < lab->result.count);
  assert_str(lab->result.errors[i].instance, instance);
  assert_str(lab->result.errors[i].keyword, keyword);
  assert_str(lab->result.errors[i].schema, schema);
  assert_true(lab->result.errors[i].message.n > 0);
}

static void refused(struct lab *lab, const char *text, enum fault_code code, const char *path) {
  if (compile(lab, str_of(text))) fail_msg("accepted: %s", text);
  if (lab->fault.code != code || strcmp(lab->fault.path, path) != 0)
    fail_msg("%s: %s %s at '%s', not at '%s'", text, fault_name(lab->fault.code), lab->fault.message, lab->fault.path,
             path);
  assert_true(lab->fault.message[0]);
}

// ---- errors ----

static void all_errors_are_reported_with_their_places(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"additionalProperties\":false,"
           "\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":3},\"b\":{\"type\":\"string\"},"
           "\"c\":{\"items\":{\"enum\":[\"x\",\"y\"]}}}}");
  assert_false(valid(lab, "{\"a\":1,\"c\":[\"x\",\"z\"],\"d/~e\":1}"));
  assert_int_equal(lab->result.count, 4);
  assert_error(lab, 0, "", "required", "/required");
  assert_str(lab->result.errors[0].message, "the property \"b\" is missing");
  assert_error(lab, 1, "/a", "minimum", "/properties/a/minimum");
  assert_str(lab->result.errors[1].message, "must be at least 3");
  assert_error(lab, 2, "/c/1", "enum", "/properties/c/items/enum");
  assert_str(lab->result.errors[2].message, "must be one of \"x\", \"y\"");
  assert_str(json_span(lab->result.errors[2].part), "{\"enum\":[\"x\",\"y\"]}");
  assert_error(lab, 3, "/d~1~0e", "additionalProperties", "/additionalProperties");
  assert_false(lab->result.more);
  assert_true(valid(lab, "{\"a\":3,\"b\":\"\"}"));
  assert_int_equal(lab->result.count, 0);
}

static void a_wrong_type_is_said_in_words(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"properties\":{\"n\":{\"type\":[\"integer\",\"null\"],\"minimum\":3}}}");
  assert_false(valid(lab, "{\"n\":\"7\"}"));
  assert_int_equal(lab->result.count, 1);
  assert_error(lab, 0, "/n", "type", "/properties/n/type");
  assert_str(lab->result.errors[0].message, "must be null or an integer, but is a string");
  assert_false(valid(lab, "{\"n\":7.5}"));
  assert_str(lab->result.errors[0].message, "must be null or an integer, but is a number with a fraction");
  assert_true(valid(lab, "{\"n\":7.0}"));
}

static void the_number_of_errors_is_bounded(void **state) {
  struct lab *lab = *state;
  lab->options.max_errors = 2;
  use(lab, "{\"items\":{\"type\":\"string\"}}");
  assert_false(valid(lab, "[1,2,3,4]"));
  assert_int_equal(lab->result.count, 2);
  assert_true(lab->result.more);
  assert_false(valid(lab, "[1,2]"));
  assert_false(lab->result.more);
}

static void of_alternatives_the_one_for_this_type_speaks(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"required\":[\"x\"]}]}");
  assert_false(valid(lab, "{}"));
  assert_int_equal(lab->result.count, 1);
  assert_error(lab, 0, "", "required", "/anyOf/1/required");
  assert_false(valid(lab, "3"));
  assert_error(lab, 0, "", "anyOf", "/anyOf");
  use(lab, "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}");
  assert_false(valid(lab, "3"));
  assert_error(lab, 0, "", "oneOf", "/oneOf");
}

static void an_error_behind_a_reference_is_placed_where_the_keyword_is(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"maxLength\":1}}}");
  assert_false(valid(lab, "\"\\u00e9\\ud83d\\udc32\""));
  assert_error(lab, 0, "", "maxLength", "/$defs/a/maxLength");
  assert_str(lab->result.errors[0].message, "must have at most 1 characters, but has 2");
}

// ---- schemas that are none ----

static void what_is_no_schema_is_refused_with_its_place(void **state) {
  struct lab *lab = *state;
  static const struct {
    const char *schema, *path;
  } cases[] = {
      {"{\"type\":\"strnig\"}", "/type"},
      {"{\"type\":[\"string\",\"string\"]}", "/type/1"},
      {"{\"type\":[]}", "/type"},
      {"{\"properties\":{\"a\":{\"required\":true}}}", "/properties/a/required"},
      {"{\"required\":[\"a\",1]}", "/required/1"},
      {"{\"required\":[\"a\",\"a\"]}", "/required/1"},
      {"{\"properties\":[]}", "/properties"},
      {"{\"properties\":{\"a\":1}}", "/properties/a"},
      {"{\"items\":[{}]}", "/items"},
      {"{\"minLength\":-1}", "/minLength"},
      {"{\"minLength\":1.5}", "/minLength"},
      {"{\"multipleOf\":0}", "/multipleOf"},
      {"{\"pattern\":\"(\"}", "/pattern"},
      {"{\"pattern\":\"a)(b\"}", "/pattern"},
      {"{\"pattern\":\"(*LIMIT_MATCH=9)a\"}", "/pattern"},
      {"{\"patternProperties\":{\"[\":{}}}", "/patternProperties/["},
      {"{\"anyOf\":[]}", "/anyOf"},
      {"{\"not\":3}", "/not"},
      {"{\"enum\":3}", "/enum"},
      {"{\"description\":3}", "/description"},
      {"{\"uniqueItems\":1}", "/uniqueItems"},
      {"{\"$id\":\"#x\"}", "/$id"},
      {"{\"$defs\":{\"a\":{\"$anchor\":\"x\"},\"b\":{\"$anchor\":\"x\"}}}", "/$defs/b"},
      {"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"exclusiveMinimum\":true}", "/exclusiveMinimum"},
      {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"required\":[]}", "/required"},
      {"[]", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refused(lab, cases[i].schema, FAULT_INVALID, cases[i].path);
}

static void unresolved_references_are_refused_and_nothing_is_fetched(void **state) {
  struct lab *lab = *state;
  refused(lab, "{\"items\":{\"$ref\":\"#/$defs/a\"}}", FAULT_NOT_FOUND, "/items/$ref");
  refused(lab, "{\"$ref\":\"#a\"}", FAULT_NOT_FOUND, "/$ref");
  refused(lab, "{\"$ref\":\"http://127.0.0.1:9/x.json\"}", FAULT_NOT_FOUND, "/$ref");
  refused(lab, "{\"$ref\":\"file:///etc/passwd\"}", FAULT_NOT_FOUND, "/$ref");
  refused(lab, "{\"$ref\":\"#/%zz\"}", FAULT_NOT_FOUND, "/$ref");
}

static void documents_at_hand_can_be_referred_to(void **state) {
  struct lab *lab = *state;
  struct schema_document document = {STR("http://x/y/z.json"), parse(lab, STR("{\"$defs\":{\"n\":{\"minimum\":2}}}"))};
  lab->options.documents = &document;
  lab->options.document_count = 1;
  use(lab, "{\"$id\":\"http://x/y/a.json\",\"$ref\":\"z.json#/$defs/n\"}");
  assert_true(valid(lab, "2"));
  assert_false(valid(lab, "1"));
  assert_error(lab, 0, "", "minimum", "http://x/y/z.json#/$defs/n/minimum");
}

static void the_draft_is_what_schema_names(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":[{\"type\":\"string\"}],"
           "\"additionalItems\":false}");
  assert_int_equal(schema_draft(lab->schema), SCHEMA_DRAFT_7);
  assert_true(valid(lab, "[\"a\"]"));
  assert_false(valid(lab, "[\"a\",1]"));
  use(lab, "{\"$schema\":\"http://json-schema.org/draft-04/schema\",\"minimum\":1,\"exclusiveMinimum\":true}");
  assert_false(valid(lab, "1"));
  use(lab, "{\"minimum\":1,\"exclusiveMinimum\":true}");  // says no draft
  assert_int_equal(schema_draft(lab->schema), SCHEMA_DRAFT_2020_12);
  assert_false(valid(lab, "1"));
}

// ---- values ----

static void numbers_are_exact(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"multipleOf\":0.01}");
  assert_true(valid(lab, "0.07"));
  assert_true(valid(lab, "1e300"));
  assert_true(valid(lab, "123456789012345678901234567890.25"));
  assert_false(valid(lab, "0.075"));
  use(lab, "{\"maximum\":9007199254740993}");
  assert_true(valid(lab, "9007199254740993"));
  assert_false(valid(lab, "9007199254740994"));
  assert_false(valid(lab, "9007199254740993.0000000000000000001"));
  assert_false(valid(lab, "1e999999999999999999999"));
  assert_true(valid(lab, "-1e999999999999999999999"));
  use(lab, "{\"const\":1.0}");
  assert_true(valid(lab, "10e-1"));
}

static void formats_count_when_they_are_asserted(void **state) {
  struct lab *lab = *state;
  const char *schema = "{\"format\":\"date-time\"}";
  use(lab, schema);
  assert_true(valid(lab, "\"yesterday\""));
  lab->options.assert_formats = true;
  use(lab, schema);
  assert_false(valid(lab, "\"yesterday\""));
  assert_true(valid(lab, "\"2024-02-29T23:59:60Z\""));
  assert_true(valid(lab, "7"));
}

static void patterns_are_those_of_ecmascript(void **state) {
  struct lab *lab = *state;
  static const struct {
    const char *pattern, *text;
    bool matches;
  } cases[] = {
      {"^\\\\d$", "\"7\"", true},
      {"^\\\\d$", "\"\\u0667\"", false},
      {"^a$", "\"a\\n\"", false},
      {"^\\\\s$", "\"\\u00a0\"", true},
      {"^[\\\\s]$", "\"\\ufeff\"", true},
      {"^\\\\S$", "\"\\u2003\"", false},
      {"^.$", "\"\\r\"", false},
      {"^.$", "\"\\ud83d\\udc32\"", true},
      {"^\\\\ud83d\\\\udc32$", "\"\\ud83d\\udc32\"", true},
      {"^[^]$", "\"x\"", true},
      {"^\\\\p{Letter}$", "\"\\u00e9\"", true},
      {"^[[]$", "\"[\"", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    use(lab, arena_printf(&lab->arena, "{\"pattern\":\"%s\"}", cases[i].pattern).p);
    if (valid(lab, cases[i].text) != cases[i].matches) fail_msg("%s on %s", cases[i].pattern, cases[i].text);
  }
}

// ---- limits ----

static str repeat(struct lab *lab, const char *before, const char *unit, size_t times, const char *behind) {
  struct buf b;
  buf_init(&b, 64 << 20);
  buf_str(&b, str_of(before));
  for (size_t i = 0; i < times; i++) buf_str(&b, str_of(unit));
  buf_str(&b, str_of(behind));
  str text = arena_str(&lab->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static void a_schema_beyond_the_limits_is_refused(void **state) {
  struct lab *lab = *state;
  assert_false(compile(lab, repeat(lab, "{\"description\":\"", "x", 65536, "\"}")));
  assert_int_equal(lab->fault.code, FAULT_LIMIT);
  str deep = repeat(lab, "", "{\"not\":", 32, "{}");
  struct buf text;
  buf_init(&text, 4096);
  buf_str(&text, deep);
  for (int i = 0; i < 32; i++) buf_char(&text, '}');
  assert_false(compile(lab, buf_view(&text)));
  assert_int_equal(lab->fault.code, FAULT_LIMIT);
  lab->options.max_depth = 33;
  assert_true(compile(lab, buf_view(&text)));
  buf_done(&text);
  lab->options.max_properties = 2;
  assert_true(compile(lab, STR("{\"properties\":{\"a\":{},\"b\":{}}}")));
  assert_false(compile(lab, STR("{\"properties\":{\"a\":{\"properties\":{\"c\":{}}},\"b\":{}}}")));
  assert_int_equal(lab->fault.code, FAULT_LIMIT);
}

static void assert_undecided(struct lab *lab, str instance) {
  assert_false(schema_validate(lab->schema, parse(lab, instance), &lab->arena, &lab->result));
  assert_true(lab->result.undecided);
  assert_int_equal(lab->result.fault.code, FAULT_LIMIT);
  assert_int_equal(lab->result.count, 0);
}

static void a_reference_to_itself_ends(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"$ref\":\"#\"}");
  assert_undecided(lab, STR("1"));
  use(lab, "{\"not\":{\"$ref\":\"#\"}}");
  assert_undecided(lab, STR("1"));
  use(lab, "{\"allOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}}}");
  assert_undecided(lab, STR("{}"));
}

static void references_that_multiply_are_stopped(void **state) {
  struct lab *lab = *state;
  struct buf b;
  buf_init(&b, 65536);
  buf_str(&b, STR("{\"$ref\":\"#/$defs/0\",\"$defs\":{"));
  for (int i = 0; i < 60; i++)
    buf_printf(&b, "\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},", i, i + 1, i + 1);
  buf_str(&b, STR("\"60\":{}}}"));
  assert_true(compile(lab, buf_view(&b)));
  buf_done(&b);
  assert_undecided(lab, STR("1"));
}

static void a_pattern_that_backtracks_too_long_is_stopped(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"items\":{\"pattern\":\"^(a+)+$\"}}");
  assert_undecided(lab, repeat(lab, "[\"", "a", 40, "b\"]"));
  assert_true(valid(lab, "[\"aaaaaaaaaa\"]"));
  use(lab, "{\"patternProperties\":{\"^(a|aa)+$\":{}}}");
  assert_undecided(lab, repeat(lab, "{\"", "a", 60, "b\":1}"));
}

static void work_on_large_values_is_not_quadratic(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"uniqueItems\":true}");
  struct buf b;
  buf_init(&b, 16 << 20);
  buf_char(&b, '[');
  for (int i = 0; i < 100000; i++) buf_printf(&b, "{\"id\":%d,\"n\":[\"%d\"]},", i, i);
  size_t n = b.n;
  buf_str(&b, STR("0]"));
  assert_true(schema_validate(lab->schema, parse(lab, buf_view(&b)), &lab->arena, &lab->result));
  b.n = n;
  buf_str(&b, STR("{\"n\":[\"777\"],\"id\":777.0}]"));
  assert_false(schema_validate(lab->schema, parse(lab, buf_view(&b)), &lab->arena, &lab->result));
  assert_false(lab->result.undecided);
  assert_error(lab, 0, "/100000", "uniqueItems", "/uniqueItems");
  assert_str(lab->result.errors[0].message, "elements 777 and 100000 are the same");
  buf_done(&b);
}

static void many_names_wanted_of_many_members_end(void **state) {
  struct lab *lab = *state;
  struct buf b;
  buf_init(&b, 16 << 20);
  buf_str(&b, STR("{\"items\":{\"required\":["));
  for (int i = 0; i < 6000; i++) buf_printf(&b, "%s\"r%d\"", i ? "," : "", i);
  buf_str(&b, STR("]}}"));
  assert_true(compile(lab, buf_view(&b)));
  buf_reset(&b);
  buf_str(&b, STR("[{"));
  for (int i = 0; i < 100000; i++) buf_printf(&b, "%s\"m%d\":1", i ? "," : "", i);
  buf_str(&b, STR("}]"));
  assert_false(schema_validate(lab->schema, parse(lab, buf_view(&b)), &lab->arena, &lab->result));
  buf_done(&b);
}

static void a_compiled_schema_needs_nothing_of_its_source(void **state) {
  struct lab *lab = *state;
  struct arena other;
  arena_init(&other);
  str text = arena_str(&other, STR("{\"properties\":{\"\\u0061\":{\"const\":[\"x\"]}}}"));
  lab->schema = schema_compile(json_parse(&other, text, &json_default_limits, &lab->fault), &lab->options, &lab->fault);
  arena_done(&other);
  assert_true(valid(lab, "{\"a\":[\"\\u0078\"]}"));
  assert_false(valid(lab, "{\"a\":[\"y\"]}"));
  assert_error(lab, 0, "/a", "const", "/properties/a/const");
}

// ---- real servers ----

static int is_catalog(const struct dirent *e) {
  return str_ends(str_of(e->d_name), STR(".json"));
}

static struct json *read_catalog(struct arena *a, const char *folder, const char *name) {
  char path[4096];
  struct fault f;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  size_t n = (size_t)ftell(file);
  rewind(file);
  char *text = arena_alloc(a, n);
  assert_int_equal(fread(text, 1, n, file), n);
  fclose(file);
  struct json *v = json_parse(a, (str){text, n}, &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", path, f.message);
  return v;
}

static void compile_tools(struct lab *lab, const char *name, struct json *tools, unsigned *count, unsigned *large) {
  JSON_EACH(tool, tools) {
    const struct json *source = json_get(tool, STR("inputSchema"));
    if (!source) continue;
    lab->options = schema_default_options;
    lab->schema = schema_compile(source, &lab->options, &lab->fault);
    if (!lab->schema && lab->fault.code == FAULT_LIMIT) {
      ++*large;
      lab->options.max_bytes = lab->options.max_properties = SIZE_MAX;
      lab->options.max_depth = 1024;
      lab->schema = schema_compile(source, &lab->options, &lab->fault);
    }
    const struct json *id = json_get(tool, STR("name"));
    if (!lab->schema) fail_msg("%s %.*s: %s at %s", name, (int)id->n, id->p, lab->fault.message, lab->fault.path);
    schema_free(&lab->schema);
    ++*count;
  }
}

// Compiles the schemas of all catalogs of a folder; returns their number, 0 if there is no such folder.
static unsigned compile_catalogs(struct lab *lab, const char *folder) {
  struct dirent **files;
  unsigned count = 0, large = 0;
  int n = scandir(folder, &files, is_catalog, alphasort);
  if (n < 0) return 0;
  for (int i = 0; i < n; i++) {
    struct json *catalog = read_catalog(&lab->arena, folder, files[i]->d_name);
    compile_tools(lab, files[i]->d_name, json_get(catalog, STR("tools")), &count, &large);
    free(files[i]);
  }
  free(files);
  print_message("# %u schemas of tools compiled, %u of them are beyond the default limits\n", count, large);
  return count;
}

static void the_tools_of_the_test_catalogs_compile(void **state) {
  assert_true(compile_catalogs(*state, CATALOGS_IN_TREE) > 50);
}

static void the_tools_of_real_servers_compile(void **state) {
  char folder[BESIDE_PATH_MAX];
  if (access(beside(CATALOGS_BESIDE, folder), R_OK) != 0) skip();
  assert_true(compile_catalogs(*state, folder) > 100);
}

static void the_part_that_is_shown_is_the_smallest_that_helps(void **state) {
  struct lab *lab = *state;
  static const struct {
    const char *value, *shown;
  } table[] = {
      {"{\"n\":\"x\",\"o\":{}}", "{\"type\":\"number\"}"},
      {"{\"n\":1,\"o\":{\"properties\":5}}", "{\"type\":\"string\"}"},
      {"{\"n\":1,\"o\":{\"z\":1}}",
       "{\"type\":\"object\",\"properties\":{\"properties\":{\"type\":\"string\"}},\"additionalProperties\":false}"},
  };
  use(lab,
      "{\"type\": \"object\", \"required\": [\"n\"], \"properties\": {\"n\": {\"type\": \"number\"}, \"o\": {\"type\": "
      "\"object\", \"properties\": {\"properties\": {\"type\": \"string\"}}, \"additionalProperties\": false}}}");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    assert_false(valid(lab, table[i].value));
    assert_str(json_span(schema_failing(lab->schema, &lab->result, 4096)), table[i].shown);
  }
  // Two places: what holds both. And of what is missing, the object that lacks it.
  static const char *const whole[] = {"{\"n\":\"x\",\"o\":5}", "{}"};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    assert_false(valid(lab, whole[i]));
    assert_ptr_equal(schema_failing(lab->schema, &lab->result, 4096), schema_source(lab->schema));
  }
  assert_null(schema_failing(lab->schema, &lab->result, 16));
}

static void a_part_that_refers_to_others_is_shown_with_them(void **state) {
  struct lab *lab = *state;
  use(lab, "{\"$defs\":{\"p\":{\"type\":\"object\",\"properties\":{\"q\":{\"$ref\":\"#/$defs/p\"}}}},"
           "\"properties\":{\"a\":{\"$ref\":\"#/$defs/p\"}}}");
  assert_false(valid(lab, "{\"a\":5}"));
  assert_ptr_equal(schema_failing(lab->schema, &lab->result, 4096), schema_source(lab->schema));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(all_errors_are_reported_with_their_places),
      TEST(a_wrong_type_is_said_in_words),
      TEST(the_number_of_errors_is_bounded),
      TEST(of_alternatives_the_one_for_this_type_speaks),
      TEST(an_error_behind_a_reference_is_placed_where_the_keyword_is),
      TEST(what_is_no_schema_is_refused_with_its_place),
      TEST(unresolved_references_are_refused_and_nothing_is_fetched),
      TEST(documents_at_hand_can_be_referred_to),
      TEST(the_draft_is_what_schema_names),
      TEST(numbers_are_exact),
      TEST(formats_count_when_they_are_asserted),
      TEST(patterns_are_those_of_ecmascript),
      TEST(a_schema_beyond_the_limits_is_refused),
      TEST(a_reference_to_itself_ends),
      TEST(references_that_multiply_are_stopped),
      TEST(a_pattern_that_backtracks_too_long_is_stopped),
      TEST(work_on_large_values_is_not_quadratic),
      TEST(many_names_wanted_of_many_members_end),
      TEST(a_compiled_schema_needs_nothing_of_its_source),
      TEST(the_part_that_is_shown_is_the_smallest_that_helps),
      TEST(a_part_that_refers_to_others_is_shown_with_them),
      TEST(the_tools_of_the_test_catalogs_compile),
      TEST(the_tools_of_real_servers_compile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
