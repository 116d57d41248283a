// SPDX-License-Identifier: Apache-2.0
// call/literals: arguments that a model wrote as text.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "call/controls/literals.h"

static struct arena arena;

static int set_up(void **state) {
  arena_init(&arena);
  return 0;
}
static int tear_down(void **state) {
  arena_done(&arena);
  return 0;
}

static const struct json *read(const char *text) {
  struct fault f;
  const struct json *v = json_parse(&arena, str_of(text), &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", text, f.message);
  return v;
}

static const char schema[] = "{\"type\":\"object\",\"properties\":{"
                             "\"i\":{\"type\":\"integer\"},\"n\":{\"type\":\"number\"},\"b\":{\"type\":\"boolean\"},"
                             "\"z\":{\"type\":\"null\"},\"s\":{\"type\":\"string\"},\"any\":{},"
                             "\"ni\":{\"type\":[\"number\",\"integer\"]},\"is\":{\"type\":[\"integer\",\"string\"]},"
                             "\"sz\":{\"type\":[\"string\",\"null\"]},\"bz\":{\"type\":[\"null\",\"boolean\"]},"
                             "\"a.b\":{\"type\":\"integer\"},"
                             "\"o\":{\"type\":\"object\",\"properties\":{\"i\":{\"type\":\"integer\"}}}}}";

// What the arguments become, and the repairs that were noted, by the schema above. NULL: they stay.
static void assert_repair(const char *args, const char *want, const char *want_told) {
  struct literal_repairs repairs = {0};
  str out = STR_NONE;
  bool done = literal_repair(read(args), read(schema), &arena, &out, &repairs);
  if (done != (want != NULL)) fail_msg("%s: %s", args, done ? "was changed" : "was not changed");
  if (!done) {
    assert_int_equal(repairs.count, 0);
    return;
  }
  if (!str_eq(out, str_of(want))) fail_msg("%s: %.*s", args, STR_ARG(out));
  str told = literal_list(&repairs, &arena);
  if (!str_eq(told, str_of(want_told))) fail_msg("%s: %.*s", args, STR_ARG(told));
}

#define TOLD(key, rule) "[{\"path\":\"$." key "\",\"rule\":\"" rule "\"}]"

static void text_becomes_what_the_type_of_its_argument_is(void **state) {
  assert_repair("{\"i\":\"42\"}", "{\"i\":42}", TOLD("i", "str_to_integer"));
  assert_repair("{\"n\":\"129.0\"}", "{\"n\":129.0}", TOLD("n", "str_to_number"));
  assert_repair("{\"b\":\"true\"}", "{\"b\":true}", TOLD("b", "str_to_boolean"));
  assert_repair("{\"b\":\"false\"}", "{\"b\":false}", TOLD("b", "str_to_boolean"));
  assert_repair("{\"z\":\"null\"}", "{\"z\":null}", TOLD("z", "str_to_null"));
}

static void white_space_around_a_literal_is_stripped(void **state) {
  assert_repair("{\"i\":\" 42 \"}", "{\"i\":42}", TOLD("i", "str_to_integer"));
  assert_repair("{\"i\":\"\\t42\\n\"}", "{\"i\":42}", TOLD("i", "str_to_integer"));
  assert_repair("{\"b\":\" true\"}", "{\"b\":true}", TOLD("b", "str_to_boolean"));
}

// The reference turns "-0" into 0; here a number keeps the bytes that were written.
static void an_integer_is_an_exact_literal(void **state) {
  static const char *const not [] = {"+42", "042", "4.0", "4e2", "", " ", "-", "--1", "0x10", "1 2", "1_000", "４２"};
  for (size_t i = 0; i < sizeof not / sizeof *not ; i++) {
    char args[64];
    snprintf(args, sizeof args, "{\"i\":\"%s\"}", not [i]);
    assert_repair(args, NULL, NULL);
  }
  assert_repair("{\"i\":\"-0\"}", "{\"i\":-0}", TOLD("i", "str_to_integer"));
  assert_repair("{\"i\":\"-17\"}", "{\"i\":-17}", TOLD("i", "str_to_integer"));
}

static void numbers_keep_their_bytes(void **state) {
  assert_repair("{\"i\":\"9007199254740993\"}", "{\"i\":9007199254740993}", TOLD("i", "str_to_integer"));
  assert_repair("{\"n\":\"1.10\"}", "{\"n\":1.10}", TOLD("n", "str_to_number"));
  assert_repair("{\"n\":\"0.1e+2\"}", "{\"n\":0.1e+2}", TOLD("n", "str_to_number"));
}

static void a_number_is_finite_and_as_json_writes_it(void **state) {
  static const char *const not [] = {"1e999", "-1e999", ".5", "5.", "1e", "1e+", "+1", "01", "NaN", "Infinity", "1,5"};
  for (size_t i = 0; i < sizeof not / sizeof *not ; i++) {
    char args[64];
    snprintf(args, sizeof args, "{\"n\":\"%s\"}", not [i]);
    assert_repair(args, NULL, NULL);
  }
}

static void words_are_exact(void **state) {
  assert_repair("{\"b\":\"True\"}", NULL, NULL);
  assert_repair("{\"b\":\"yes\"}", NULL, NULL);
  assert_repair("{\"b\":\"1\"}", NULL, NULL);
  assert_repair("{\"z\":\"None\"}", NULL, NULL);
}

static void where_text_is_allowed_or_no_type_is_named_it_stays(void **state) {
  assert_repair("{\"s\":\"42\"}", NULL, NULL);
  assert_repair("{\"is\":\"42\"}", NULL, NULL);
  assert_repair("{\"sz\":\"null\"}", NULL, NULL);
  assert_repair("{\"any\":\"42\"}", NULL, NULL);
  assert_repair("{\"unknown\":\"42\"}", NULL, NULL);
}

static void of_several_types_integer_comes_before_number_and_boolean_before_null(void **state) {
  assert_repair("{\"ni\":\"7\"}", "{\"ni\":7}", TOLD("ni", "str_to_integer"));
  assert_repair("{\"ni\":\"7.5\"}", "{\"ni\":7.5}", TOLD("ni", "str_to_number"));
  assert_repair("{\"bz\":\"true\"}", "{\"bz\":true}", TOLD("bz", "str_to_boolean"));
  assert_repair("{\"bz\":\"null\"}", "{\"bz\":null}", TOLD("bz", "str_to_null"));
}

static void only_the_arguments_themselves_are_looked_at(void **state) {
  assert_repair("{\"o\":{\"i\":\"42\"}}", NULL, NULL);
}

static void what_is_not_repaired_stays_byte_for_byte(void **state) {
  assert_repair("{ \"s\" : \"42\", \"i\":\"1\" , \"any\":[1.0, 2] }", "{ \"s\" : \"42\", \"i\":1 , \"any\":[1.0, 2] }",
                TOLD("i", "str_to_integer"));
}

static void repairs_are_told_in_the_order_of_the_arguments(void **state) {
  assert_repair("{\"b\":\"true\",\"i\":\"1\"}", "{\"b\":true,\"i\":1}",
                "[{\"path\":\"$.b\",\"rule\":\"str_to_boolean\"},{\"path\":\"$.i\",\"rule\":\"str_to_integer\"}]");
}

static void escaped_keys_and_values_are_read_as_what_they_say(void **state) {
  assert_repair("{\"\\u0069\":\"4\\u0032\"}", "{\"\\u0069\":42}", TOLD("i", "str_to_integer"));
}

static void a_tool_without_a_schema_takes_what_it_is_given(void **state) {
  struct literal_repairs repairs = {0};
  str out;
  assert_false(literal_repair(read("{\"i\":\"42\"}"), NULL, &arena, &out, &repairs));
  assert_false(literal_repair(read("{\"i\":\"42\"}"), read("{\"type\":\"object\"}"), &arena, &out, &repairs));
  assert_false(literal_repair(read("{\"i\":\"42\"}"), read("{\"properties\":[1]}"), &arena, &out, &repairs));
  assert_false(literal_repair(read("{\"i\":\"42\"}"), read("{\"properties\":{\"i\":true}}"), &arena, &out, &repairs));
}

static void only_what_may_be_a_literal_is_worth_a_look_at_the_schema(void **state) {
  assert_false(literal_suspects(read("{}")));
  assert_false(literal_suspects(read("{\"a\":1,\"b\":\"hello\",\"c\":{\"d\":\"1\"}}")));
  assert_true(literal_suspects(read("{\"a\":\" -1\"}")));
  assert_true(literal_suspects(read("{\"a\":\"\\u0031\"}")));
  assert_true(literal_suspects(read("{\"a\":\"true\"}")));
}

static void assert_object(const char *text, const char *want) {
  str out = STR_NONE;
  bool is = literal_object(read(text), &json_default_limits, &arena, &out);
  if (is != (want != NULL)) fail_msg("%s: %s", text, is ? "is taken" : "is not taken");
  if (want && !str_eq(out, str_of(want))) fail_msg("%s: %.*s", text, STR_ARG(out));
}

static void arguments_that_are_text_with_an_object_in_it_are_that_object(void **state) {
  assert_object("\"{\\\"order_id\\\":\\\"4471\\\",\\\"amount\\\":\\\"129.0\\\"}\"",
                "{\"order_id\":\"4471\",\"amount\":\"129.0\"}");
  assert_object("\"  {\\\"a\\\":1.50}\\n\"", "{\"a\":1.50}");
  assert_object("\"\\ufeff{}\"", "{}");
  assert_object("\" \\ufeff {} \"", "{}");
}

static void arguments_that_are_other_text_are_not_touched(void **state) {
  assert_object("\"\"", NULL);
  assert_object("\"[1]\"", NULL);
  assert_object("\"42\"", NULL);
  assert_object("\"{\\\"a\\\":1\"", NULL);
  assert_object("\"{\\\"a\\\":1} {}\"", NULL);
  assert_object("\"{'a':1}\"", NULL);
  assert_object("\"{\\\"a\\\":1,\\\"a\\\":2}\"", NULL);
  assert_object("{}", NULL);
}

static void no_more_repairs_are_told_than_anyone_reads(void **state) {
  struct literal_repair list[LITERAL_LISTED + 5];
  for (size_t i = 0; i < LITERAL_LISTED + 5; i++) list[i] = (struct literal_repair){LITERAL_NULL, STR("k")};
  struct literal_repairs repairs = {list, LITERAL_LISTED + 5};
  struct fault f;
  const struct json *told = json_parse(&arena, literal_list(&repairs, &arena), &json_default_limits, &f);
  assert_non_null(told);
  assert_int_equal(told->count, LITERAL_LISTED);
  repairs = (struct literal_repairs){(struct literal_repair[]){{LITERAL_OBJECT, STR_NONE}}, 1};
  assert_string_equal(literal_list(&repairs, &arena).p, "[{\"path\":\"$\",\"rule\":\"parse_stringified_object\"}]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(text_becomes_what_the_type_of_its_argument_is, set_up, tear_down),
      cmocka_unit_test_setup_teardown(white_space_around_a_literal_is_stripped, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_integer_is_an_exact_literal, set_up, tear_down),
      cmocka_unit_test_setup_teardown(numbers_keep_their_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_number_is_finite_and_as_json_writes_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(words_are_exact, set_up, tear_down),
      cmocka_unit_test_setup_teardown(where_text_is_allowed_or_no_type_is_named_it_stays, set_up, tear_down),
      cmocka_unit_test_setup_teardown(of_several_types_integer_comes_before_number_and_boolean_before_null, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(only_the_arguments_themselves_are_looked_at, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_not_repaired_stays_byte_for_byte, set_up, tear_down),
      cmocka_unit_test_setup_teardown(repairs_are_told_in_the_order_of_the_arguments, set_up, tear_down),
      cmocka_unit_test_setup_teardown(escaped_keys_and_values_are_read_as_what_they_say, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_tool_without_a_schema_takes_what_it_is_given, set_up, tear_down),
      cmocka_unit_test_setup_teardown(only_what_may_be_a_literal_is_worth_a_look_at_the_schema, set_up, tear_down),
      cmocka_unit_test_setup_teardown(arguments_that_are_text_with_an_object_in_it_are_that_object, set_up, tear_down),
      cmocka_unit_test_setup_teardown(arguments_that_are_other_text_are_not_touched, set_up, tear_down),
      cmocka_unit_test_setup_teardown(no_more_repairs_are_told_than_anyone_reads, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
