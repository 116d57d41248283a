// SPDX-License-Identifier: Apache-2.0
// catalog/naming/param_headers: HTTP headers that repeat arguments of a tool.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "catalog/naming/param_headers.h"

static struct json *parsed(struct arena *a, str text) {
  struct fault f;
  struct json *v = json_parse(a, text, &(struct json_limits){.max_bytes = 1 << 20, .max_depth = JSON_DEEPEST}, &f);
  if (!v) fail_msg("%.*s: %s (%s)", STR_ARG(text), f.message, f.path);
  return v;
}

// The definition is gone before the mirrors are looked at.
static bool read_schema(struct arena *a, str schema, struct param_headers *out, const char **why) {
  struct buf text;
  struct arena source;
  buf_init(&text, 1 << 20);
  arena_init(&source);
  buf_str(&text, STR("{\"name\":\"t\",\"inputSchema\":"));
  buf_str(&text, schema);
  buf_char(&text, '}');
  bool good = param_headers_read(parsed(&source, buf_view(&text)), a, out, why);
  memset(text.p, '?', text.n);
  buf_done(&text);
  arena_done(&source);
  return good;
}

// "Name=a.b Other=c"
static void assert_param_headers(const char *schema, const char *want) {
  struct arena a;
  struct param_headers m;
  struct buf b;
  const char *why = "untouched";
  arena_init(&a);
  buf_init(&b, 65536);
  if (!read_schema(&a, str_of(schema), &m, &why)) fail_msg("%s: %s", schema, why);
  assert_string_equal(why, "untouched");
  for (size_t i = 0; i < m.count; i++) {
    buf_printf(&b, "%s%.*s=", i ? " " : "", STR_ARG(m.list[i].name));
    for (size_t k = 0; k < m.list[i].depth; k++) buf_printf(&b, "%s%.*s", k ? "." : "", STR_ARG(m.list[i].path[k]));
  }
  if (!str_eq(buf_view(&b), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&b)), want);
  buf_done(&b);
  arena_done(&a);
}

static void assert_refused(const char *schema, const char *why_part) {
  struct arena a;
  struct param_headers m = {NULL, 77};
  const char *why = NULL;
  arena_init(&a);
  if (read_schema(&a, str_of(schema), &m, &why)) fail_msg("%s was taken", schema);
  assert_int_equal(m.count, 77);
  if (!strstr(why, why_part)) fail_msg("%s: '%s' instead of '%s'", schema, why, why_part);
  arena_done(&a);
}

#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define MIRRORED(name, type, header) "\"" name "\":{\"type\":\"" type "\",\"x-mcp-header\":\"" header "\"}"

static void a_tool_without_declarations_has_no_param_headers(void **state) {
  assert_param_headers("{}", "");
  assert_param_headers(OBJECT("\"a\":{\"type\":\"string\"}"), "");
  assert_param_headers(OBJECT("\"a\":{\"type\":\"number\",\"description\":\"like x-mcp-header\"}"), "");
  assert_param_headers(OBJECT("\"a\":{\"type\":\"string\",\"description\":\"\\u00e9\"}"), "");
  // A property may have that name, or a text say it: neither is a declaration.
  assert_param_headers(OBJECT("\"x-mcp-header\":{\"type\":\"string\"}"), "");
  assert_param_headers(OBJECT("\"a\":{\"enum\":[\"x-mcp-header\"],\"default\":{\"x-mcp-header\":\"A\"}}"), "");
  assert_param_headers(OBJECT("\"a\":{\"const\":{\"x-mcp-header\":1},\"examples\":[{\"x-mcp-header\":\"\"}]}"), "");
  assert_param_headers(OBJECT("\"a\":{\"type\":\"string\",\"X-Mcp-Header\":\"A\"}"), "");
  static const char *const no_schemas[] = {"null", "true", "[{\"x-mcp-header\":\"A\"}]", "\"x-mcp-header\"", "1"};
  for (size_t i = 0; i < sizeof no_schemas / sizeof *no_schemas; i++) assert_param_headers(no_schemas[i], "");
  struct arena a;
  struct param_headers m = {NULL, 77};
  const char *why;
  arena_init(&a);
  assert_true(param_headers_read(parsed(&a, STR("{\"name\":\"t\",\"x-mcp-header\":\"A\"}")), &a, &m, &why));
  assert_int_equal(m.count, 0);
  arena_done(&a);
}

static void strings_integers_and_booleans_are_mirrored_at_any_depth(void **state) {
  assert_param_headers(OBJECT(MIRRORED("region", "string", "Region")), "Region=region");
  assert_param_headers(OBJECT(MIRRORED("a", "string", "A") "," MIRRORED(
                           "b", "integer", "B") ",\"c\":{\"type\":\"number\"}," MIRRORED("d", "boolean", "D")),
                       "A=a B=b D=d");
  assert_param_headers(OBJECT("\"a\":{\"properties\":{\"b\":{\"properties\":{" MIRRORED("c", "string", "Deep") "}},"  //
                              MIRRORED("d", "string", "Less") "}}"),
                       "Deep=a.b.c Less=a.d");
  // A property with a mirror may be called like a keyword, and a keyword stand beside its schema.
  assert_param_headers(OBJECT(MIRRORED("items", "string", "I") "," MIRRORED("properties", "string", "P")),
                       "I=items P=properties");
  assert_param_headers(
      "{\"$ref\":\"#/$defs/x\",\"properties\":{" MIRRORED("a", "string", "A") "},\"$defs\":{\"x\":{}}}", "A=a");
  // Type is not asked of the objects in between.
  assert_param_headers(
      "{\"properties\":{\"o\":{\"type\":\"array\",\"properties\":{" MIRRORED("a", "string", "A") "}}}}", "A=o.a");
}

static void keys_and_names_may_be_escaped(void **state) {
  assert_param_headers(
      "{\"propert\\u0069es\":{\"\\u0061\":{\"typ\\u0065\":\"str\\u0069ng\",\"x-mcp\\u002dheader\":\"\\u0041\"}}}",
      "A=a");
  assert_param_headers(OBJECT("\"a b/c\\n\\\"\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}"), "A=a b/c\n\"");
  assert_refused("{\"\\u0069tems\":{\"x-mcp-heade\\u0072\":\"A\",\"type\":\"string\"}}", "only under \"properties\"");
}

static void a_name_is_a_token_of_http(void **state) {
  assert_param_headers(OBJECT(MIRRORED("a", "string", "!#$%&'*+-.^_`|~09azAZ")), "!#$%&'*+-.^_`|~09azAZ=a");
  assert_param_headers(OBJECT(MIRRORED("a", "string", "Method")), "Method=a");
  static const char *const bad[] = {"\"\"",
                                    "\" \"",
                                    "\"My Region\"",
                                    "\"Region:Primary\"",
                                    "\"R\xc3\xa9gion\"",
                                    "\"Region\\t1\"",
                                    "\"a\\r\\nb\"",
                                    "\"a\\u0000\"",
                                    "\"\\u0000\"",
                                    "\"a(b\"",
                                    "\"a)\"",
                                    "\"a,b\"",
                                    "\"a/b\"",
                                    "\"a;b\"",
                                    "\"a<\"",
                                    "\"a=\"",
                                    "\"a>\"",
                                    "\"a?\"",
                                    "\"a@\"",
                                    "\"a[\"",
                                    "\"a\\\\\"",
                                    "\"a]\"",
                                    "\"{\"",
                                    "\"}\"",
                                    "\"\\\"\"",
                                    "\"\x7f\"",
                                    "\" a\"",
                                    "\"a \"",
                                    "null",
                                    "1",
                                    "true",
                                    "[]",
                                    "{}",
                                    "[\"A\"]",
                                    "{\"name\":\"A\"}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char schema[200];
    snprintf(schema, sizeof schema, OBJECT("\"a\":{\"type\":\"string\",\"x-mcp-header\":%s}"), bad[i]);
    assert_refused(schema, "valid in a header name");
  }
}

static void a_name_is_given_once_whatever_its_case(void **state) {
  assert_refused(OBJECT(MIRRORED("a", "string", "Region") "," MIRRORED("b", "string", "Region")), "twice");
  assert_refused(OBJECT(MIRRORED("a", "string", "MyField") "," MIRRORED("b", "integer", "myfield")), "twice");
  assert_refused(OBJECT(MIRRORED("a", "string", "A") ",\"o\":{\"properties\":{" MIRRORED("a", "string", "a") "}}"),
                 "twice");
  assert_param_headers(OBJECT(MIRRORED("a", "string", "A-1") "," MIRRORED("b", "string", "A_1")), "A-1=a A_1=b");
}

static void only_some_types_fit_into_a_header(void **state) {
  static const char *const bad[] = {"\"number\"",
                                    "\"object\"",
                                    "\"array\"",
                                    "\"null\"",
                                    "\"\"",
                                    "\"String\"",
                                    "null",
                                    "[\"string\"]",
                                    "[\"string\",\"null\"]",
                                    "{}",
                                    "1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char schema[200];
    snprintf(schema, sizeof schema, OBJECT("\"a\":{\"type\":%s,\"x-mcp-header\":\"A\"}"), bad[i]);
    assert_refused(schema, "string, integer or boolean");
  }
  assert_refused(OBJECT("\"a\":{\"x-mcp-header\":\"A\"}"), "string, integer or boolean");
  assert_refused(OBJECT("\"a\":{\"enum\":[\"x\"],\"x-mcp-header\":\"A\"}"), "string, integer or boolean");
}

static void a_declaration_anywhere_else_makes_the_tool_invalid(void **state) {
  static const char *const one[] = {"items",
                                    "contains",
                                    "additionalProperties",
                                    "unevaluatedProperties",
                                    "unevaluatedItems",
                                    "propertyNames",
                                    "not",
                                    "if",
                                    "then",
                                    "else"};
  static const char *const some[] = {"oneOf", "anyOf", "allOf", "prefixItems", "items"};
  static const char *const by_name[] = {"patternProperties", "dependentSchemas", "$defs", "definitions"};
  const char *at = "only under \"properties\"", *x = "{\"type\":\"string\",\"x-mcp-header\":\"A\"}";
  char schema[500], below[400];
  for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
    snprintf(schema, sizeof schema, "{\"%s\":%s}", one[i], x);
    assert_refused(schema, at);
    snprintf(below, sizeof below, "{\"%s\":{\"type\":\"object\",\"properties\":{\"p\":%s}}}", one[i], x);
    assert_refused(below, at);
    snprintf(schema, sizeof schema, OBJECT("\"a\":%s"), below);
    assert_refused(schema, at);
  }
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    snprintf(schema, sizeof schema, OBJECT("\"a\":{\"%s\":[{},%s]}"), some[i], x);
    assert_refused(schema, at);
    snprintf(schema, sizeof schema, "{\"%s\":[{\"properties\":{\"a\":%s}}]}", some[i], x);
    assert_refused(schema, at);
  }
  for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++) {
    snprintf(schema, sizeof schema, "{\"%s\":{\"a\":{},\"b\":%s}}", by_name[i], x);
    assert_refused(schema, at);
    snprintf(schema, sizeof schema, OBJECT("\"o\":{\"%s\":{\"a\":{\"properties\":{\"p\":%s}}}}"), by_name[i], x);
    assert_refused(schema, at);
    snprintf(schema, sizeof schema, "{\"%s\":{\"x-mcp-header\":{}}}", by_name[i]);  // here it is a name
    assert_param_headers(schema, "");
  }
  assert_refused(x, at);                                          // the root is no property
  assert_refused("{\"not\":{\"x-mcp-header\":\"not ok\"}}", at);  // nor is it asked then whether it is sound
  assert_refused(OBJECT(MIRRORED("a", "string", "A") ",\"b\":{\"items\":{\"x-mcp-header\":\"B\",\"type\":\"string\"}}"),
                 at);
}

// What the conformance suite serves in its scenario "http-invalid-tool-headers".
static void the_tools_of_the_conformance_suite_are_judged_as_it_wants(void **state) {
  assert_param_headers(
      "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}},"
      "\"required\":[\"region\"]}",
      "Region=region");
  static const char *const invalid[] = {
      "\"value\":{\"type\":\"string\",\"x-mcp-header\":\"\"}",
      "\"data\":{\"type\":\"object\",\"x-mcp-header\":\"Data\"}",
      "\"items\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"x-mcp-header\":\"Items\"}",
      "\"nil\":{\"type\":\"null\",\"x-mcp-header\":\"Nil\"}",
      "\"score\":{\"type\":\"number\",\"x-mcp-header\":\"Score\"}",
      MIRRORED("field1", "string", "Region") "," MIRRORED("field2", "string", "Region"),
      MIRRORED("field1", "string", "MyField") "," MIRRORED("field2", "string", "myfield"),
      MIRRORED("value", "string", "My Region"),
      MIRRORED("value", "string", "Region:Primary"),
      MIRRORED("value", "string", "R\xc3\xa9gion"),
      MIRRORED("value", "string", "Region\\t1"),
  };
  for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
    char schema[300];
    snprintf(schema, sizeof schema, OBJECT("%s"), invalid[i]);
    assert_refused(schema, "x-mcp-header");
  }
}

// ---- limits

static void nested(struct buf *b, int levels, const char *inner) {
  for (int i = 1; i < levels; i++) buf_str(b, STR("{\"properties\":{\"p\":"));
  buf_printf(b, "{\"properties\":{%s}}", inner);
  for (int i = 1; i < levels; i++) buf_str(b, STR("}}"));
  buf_char(b, 0);
}

static void depth_and_count_are_bounded(void **state) {
  struct buf b;
  struct arena a;
  struct param_headers m;
  const char *why;
  buf_init(&b, 1 << 20);
  arena_init(&a);
  nested(&b, 64, MIRRORED("x", "string", "A"));
  assert_true(read_schema(&a, str_of(b.p), &m, &why));
  assert_int_equal(m.list[0].depth, 64);
  assert_true(str_eq(m.list[0].path[62], STR("p")));
  assert_true(str_eq(m.list[0].path[63], STR("x")));
  buf_reset(&b);
  nested(&b, 65, MIRRORED("x", "string", "A"));
  assert_refused(b.p, "64 levels");
  buf_reset(&b);
  nested(&b, 400, "\"x\":{\"type\":\"string\",\"description\":\"no x-mcp-header\"}");
  assert_param_headers(b.p, "");  // depth alone is no fault
  buf_reset(&b);
  nested(&b, 300, "\"x\":{\"items\":{\"x-mcp-header\":\"A\"}}");
  assert_refused(b.p, "only under \"properties\"");
  for (int count = 256; count <= 257; count++) {
    buf_reset(&b);
    buf_str(&b, STR("{\"properties\":{"));
    for (int i = 0; i < count; i++)
      buf_printf(&b, "%s\"p%d\":{\"type\":\"string\",\"x-mcp-header\":\"H%d\"}", i ? "," : "", i, i);
    buf_str(&b, STR("}}"));
    buf_char(&b, 0);
    if (count == 257) assert_refused(b.p, "more than 256");
    else assert_true(read_schema(&a, str_of(b.p), &m, &why));
  }
  assert_int_equal(m.count, 256);
  assert_true(str_eq(m.list[255].name, STR("H255")));
  buf_done(&b);
  arena_done(&a);
}

// ---- values

// Of a mirror of the property a, or a.b; NULL: there is no such value, or it has no text.
static void assert_text(const char *arguments, bool deep, const char *want) {
  struct arena a;
  arena_init(&a);
  str path[] = {STR("a"), STR("b")}, text = STR("untouched");
  struct param_header m = {STR("A"), path, deep ? 2 : 1};
  const struct json *value = param_header_value(&m, parsed(&a, str_of(arguments)));
  bool good = value && param_header_text(value, &a, &text);
  if (good != !!want) fail_msg("%s: %.*s", arguments, STR_ARG(text));
  if (!good) want = "untouched";
  if (!str_eq(text, str_of(want))) fail_msg("%s: '%.*s' instead of '%s'", arguments, STR_ARG(text), want);
  arena_done(&a);
}

static void a_value_is_found_by_its_path(void **state) {
  struct arena a;
  arena_init(&a);
  str path[] = {STR("a"), STR("b")};
  struct param_header m = {STR("A"), path, 2};
  assert_null(param_header_value(&m, NULL));
  static const char *const none[] = {"{}",
                                     "{\"b\":\"x\"}",
                                     "{\"a\":\"x\"}",
                                     "{\"a\":null}",
                                     "{\"a\":{}}",
                                     "{\"a\":{\"b\":null}}",
                                     "{\"a\":[\"b\"]}",
                                     "{\"a\":{\"b\":{}}}",
                                     "{\"a\":{\"b\":[\"x\"]}}",
                                     "[]",
                                     "null",
                                     "\"a\""};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_text(none[i], true, NULL);
  assert_text("{\"a\":{\"b\":\"x\"}}", true, "x");
  assert_text("{\"b\":1,\"a\":{\"a\":2,\"b\":3}}", true, "3");
  assert_text("{\"\\u0061\":{\"\\u0062\":\"x\"}}", true, "x");
  arena_done(&a);
}

static void a_value_that_is_there_but_no_safe_integer_is_told_apart_from_none(void **state) {
  struct arena a;
  arena_init(&a);
  str path[] = {STR("a")}, text;
  struct param_header m = {STR("A"), path, 1};
  const struct json *value = param_header_value(&m, parsed(&a, STR("{\"a\":1.5}")));
  assert_non_null(value);
  assert_false(param_header_text(value, &a, &text));
  arena_done(&a);
}

// The first are those of the conformance scenario "http-custom-headers".
static void a_header_says_strings_as_they_are_integers_in_decimal_and_booleans_in_words(void **state) {
  static const struct {
    const char *value, *text;
  } table[] = {
      {"\"us-west1\"", "us-west1"},
      {"42", "42"},
      {"false", "false"},
      {"true", "true"},
      {"\"\"", ""},
      {"\"Hello, \xe4\xb8\x96\xe7\x95\x8c\"", "Hello, \xe4\xb8\x96\xe7\x95\x8c"},
      {"\" padded \"", " padded "},
      {"\"us west 1\"", "us west 1"},
      {"\"line1\\nline2\"", "line1\nline2"},
      {"\"line1\\r\\nline2\"", "line1\r\nline2"},
      {"\"\\tindented\"", "\tindented"},
      {"null", NULL},
      {"\"\\u4e16\\ud83d\\ude00\"", "\xe4\xb8\x96\xf0\x9f\x98\x80"},
      {"\"null\"", "null"},
      {"0", "0"},
      {"-0", "0"},
      {"-7", "-7"},
      {"1.0", "1"},
      {"1e3", "1000"},
      {"42.00", "42"},
      {"10e-1", "1"},
      {"-12.50e1", "-125"},
      {"9007199254740991", "9007199254740991"},
      {"-9007199254740991", "-9007199254740991"},
      {"9007199254740991.0", "9007199254740991"},
      {"9007199254740992", NULL},
      {"-9007199254740992", NULL},
      {"9223372036854775807", NULL},
      {"99999999999999999999", NULL},
      {"1e400", NULL},
      {"3.14159", NULL},
      {"1e-1", NULL},
      {"[1]", NULL},
      {"{\"a\":1}", NULL},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char arguments[100];
    snprintf(arguments, sizeof arguments, "{\"a\":%s}", table[i].value);
    assert_text(arguments, false, table[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tool_without_declarations_has_no_param_headers),
      cmocka_unit_test(strings_integers_and_booleans_are_mirrored_at_any_depth),
      cmocka_unit_test(keys_and_names_may_be_escaped),
      cmocka_unit_test(a_name_is_a_token_of_http),
      cmocka_unit_test(a_name_is_given_once_whatever_its_case),
      cmocka_unit_test(only_some_types_fit_into_a_header),
      cmocka_unit_test(a_declaration_anywhere_else_makes_the_tool_invalid),
      cmocka_unit_test(the_tools_of_the_conformance_suite_are_judged_as_it_wants),
      cmocka_unit_test(depth_and_count_are_bounded),
      cmocka_unit_test(a_value_is_found_by_its_path),
      cmocka_unit_test(a_value_that_is_there_but_no_safe_integer_is_told_apart_from_none),
      cmocka_unit_test(a_header_says_strings_as_they_are_integers_in_decimal_and_booleans_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
