// SPDX-License-Identifier: Apache-2.0
// JsonLogic: operators with the conversions of JavaScript, errors of compilation, limits.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "govern/logic.h"

static struct json *parse(struct arena *a, str text) {
  struct fault f;
  struct json *v = json_parse(a, text, &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", f.message, text.p);
  return v;
}

static enum logic_verdict verdict_of(const char *expression, const char *data, struct logic_budget *budget) {
  struct arena a;
  struct fault f;
  const char *why = NULL;
  arena_init(&a);
  const struct logic *l = logic_compile(&a, parse(&a, str_of(expression)), &f);
  if (!l) fail_msg("%s: %s at %s", expression, f.message, f.path);
  enum logic_verdict verdict = logic_test(l, parse(&a, str_of(data)), &a, budget, &why);
  assert_int_equal(verdict == LOGIC_ERROR, why != NULL);
  arena_done(&a);
  return verdict;
}

static void assert_true_in(const char *expression, const char *data) {
  struct logic_budget budget = {100000, 1 << 20};
  if (verdict_of(expression, data, &budget) != LOGIC_TRUE) fail_msg("%s is not true in %s", expression, data);
}

// The result is exactly this number, text, truth value or null.
static void assert_gives(const char *expression, const char *data, const char *expected) {
  struct buf b;
  buf_init(&b, 1 << 16);
  buf_printf(&b, "{\"===\":[%s,%s]}%c", expression, expected, 0);
  assert_true_in(b.p, data);
  buf_done(&b);
}

// The result is an array that becomes this text.
static void assert_lists(const char *expression, const char *data, const char *expected) {
  struct buf b;
  buf_init(&b, 1 << 16);
  buf_printf(&b, "{\"===\":[{\"cat\":[%s]},\"%s\"]}%c", expression, expected, 0);
  assert_true_in(b.p, data);
  buf_done(&b);
}

// *where, *why: of the fault.
static void assert_refused(const char *expression, const char *where, const char *why) {
  struct arena a;
  struct fault f = {0};
  arena_init(&a);
  assert_null(logic_compile(&a, parse(&a, str_of(expression)), &f));
  assert_string_equal(f.message, why);
  assert_string_equal(f.path, where);
  arena_done(&a);
}

static void assert_fails(const char *expression, const char *data) {
  struct logic_budget budget = {100000, 1 << 20};
  assert_int_equal(verdict_of(expression, data, &budget), LOGIC_ERROR);
}

static void var_reads_members_elements_and_defaults(void **state) {
  const char *data = "{\"a\":{\"b\":[10,{\"c\":null}]},\"t\":\"h\\u00e9\",\"n\":null,\"z\":0}";
  assert_gives("{\"var\":\"a.b.0\"}", data, "10");
  assert_gives("{\"var\":[\"a.x\",7]}", data, "7");
  assert_gives("{\"var\":[\"a.b.1.c\",7]}", data, "null");
  assert_gives("{\"var\":[\"n.x\",7]}", data, "7");
  assert_gives("{\"var\":[\"z.x\",7]}", data, "7");
  assert_gives("{\"var\":\"t.length\"}", data, "2");
  assert_gives("{\"var\":\"t.1\"}", data, "\"\\u00e9\"");
  assert_gives("{\"var\":\"a.b.length\"}", data, "2");
  assert_gives("{\"var\":[\"a.b.00\",7]}", data, "7");
  assert_gives("{\"var\":1}", "[1,\"x\"]", "\"x\"");
  assert_gives("{\"var\":\"\"}", "5", "5");
  assert_gives("{\"var\":[]}", "5", "5");
  assert_gives("{\"var\":null}", "5", "5");
  assert_gives("{\"var\":{\"cat\":[\"a\",\".b.0\"]}}", data, "10");
  assert_gives("{\"var\":[\"constructor\",7]}", data, "7");
}

static void truth_is_that_of_jsonlogic(void **state) {
  static const struct {
    const char *value, *truth;
  } cases[] = {
      {"[]", "false"}, {"[0]", "true"},    {"\"\"", "false"},          {"\"0\"", "true"},
      {"0", "false"},  {"-0.0", "false"},  {"null", "false"},          {"{\"/\":[0,0]}", "false"},
      {"0.1", "true"}, {"false", "false"}, {"{\"var\":\"\"}", "true"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[128];
    snprintf(text, sizeof text, "{\"!!\":[%s]}", cases[i].value);
    assert_gives(text, "{}", cases[i].truth);
  }
}

static void equality_converts_as_in_javascript(void **state) {
  assert_gives("{\"==\":[1,\"1\"]}", "{}", "true");
  assert_gives("{\"==\":[\"\",0]}", "{}", "true");
  assert_gives("{\"==\":[\" 0x1f \",31]}", "{}", "true");
  assert_gives("{\"==\":[null,0]}", "{}", "false");
  assert_gives("{\"==\":[null,false]}", "{}", "false");
  assert_gives("{\"==\":[true,\"1\"]}", "{}", "true");
  assert_gives("{\"==\":[true,\"true\"]}", "{}", "false");
  assert_gives("{\"==\":[[1],1]}", "{}", "true");
  assert_gives("{\"==\":[[1,2],\"1,2\"]}", "{}", "true");
  assert_gives("{\"==\":[[1],[1]]}", "{}", "false");
  assert_gives("{\"==\":[{\"var\":\"a\"},{\"var\":\"a\"}]}", "{\"a\":[1]}", "true");
  assert_gives("{\"===\":[1,\"1\"]}", "{}", "false");
  assert_gives("{\"!==\":[1,1.0]}", "{}", "false");
  assert_gives("{\"!=\":[{\"/\":[0,0]},{\"/\":[0,0]}]}", "{}", "true");
}

static void order_is_by_number_or_by_text(void **state) {
  assert_gives("{\"<\":[\"10\",\"9\"]}", "{}", "true");
  assert_gives("{\"<\":[10,\"9\"]}", "{}", "false");
  assert_gives("{\"<\":[1,2,3]}", "{}", "true");
  assert_gives("{\"<\":[1,1,3]}", "{}", "false");
  assert_gives("{\"<=\":[1,1,3]}", "{}", "true");
  assert_gives("{\"<=\":[1,4,3]}", "{}", "false");
  assert_gives("{\">\":[\"a\",1]}", "{}", "false");
  assert_gives("{\"<=\":[\"a\",1]}", "{}", "false");
  assert_gives("{\">=\":[null,0]}", "{}", "true");
  assert_gives("{\"<\":[\"\\ud83d\\ude00\",\"\\uffff\"]}", "{}", "true");  // by UTF-16, not by code point
}

static void arithmetic_takes_text_for_numbers(void **state) {
  assert_gives("{\"+\":[\"3.5kg\",1]}", "{}", "4.5");
  assert_gives("{\"+\":\"0x10\"}", "{}", "0");
  assert_gives("{\"-\":[\"5\"]}", "{}", "-5");
  assert_gives("{\"-\":[\"0x10\",1]}", "{}", "15");
  assert_gives("{\"*\":[\"2\",\"3\"]}", "{}", "6");
  assert_gives("{\"*\":[\"2\"]}", "{}", "\"2\"");
  assert_gives("{\"/\":[1,4]}", "{}", "0.25");
  assert_gives("{\"%\":[-5,3]}", "{}", "-2");
  assert_gives("{\"max\":[1,\"7\",3]}", "{}", "7");
  assert_gives("{\"min\":[1,null,3]}", "{}", "0");
  assert_lists("{\"max\":[1,\"x\"]}", "{}", "NaN");
  assert_lists("{\"/\":[1,0]}", "{}", "Infinity");
  assert_lists("{\"/\":[1,{\"max\":[{\"-\":0},{\"-\":0}]}]}", "{}", "-Infinity");
  assert_lists("{\"+\":[1e21,0]}", "{}", "1e+21");
  assert_lists("{\"+\":[0.1,0.2]}", "{}", "0.30000000000000004");
  assert_lists("1e999", "{}", "Infinity");
}

static void if_and_or_evaluate_only_what_they_need(void **state) {
  const char *bad = "{\"missing\":[[[\"x\"]]]}";  // fails when it is evaluated
  char text[256];
  snprintf(text, sizeof text, "{\"if\":[false,%s,true,\"b\",%s]}", bad, bad);
  assert_gives(text, "{}", "\"b\"");
  snprintf(text, sizeof text, "{\"or\":[0,\"x\",%s]}", bad);
  assert_gives(text, "{}", "\"x\"");
  snprintf(text, sizeof text, "{\"and\":[1,0,%s]}", bad);
  assert_gives(text, "{}", "0");
  assert_gives("{\"if\":[]}", "{}", "null");
  assert_gives("{\"?:\":[false,1]}", "{}", "null");
  assert_gives("{\"and\":[1,3]}", "{}", "3");
}

static void missing_lists_absent_keys(void **state) {
  const char *data = "{\"a\":1,\"e\":\"\",\"n\":null}";
  assert_lists("{\"missing\":[\"a\",\"b\",\"e\",\"n\"]}", data, "b,e,n");
  assert_lists("{\"missing\":{\"merge\":[\"a\",[\"b\"]]}}", data, "b");
  assert_lists("{\"missing_some\":[1,[\"a\",\"b\"]]}", data, "");
  assert_lists("{\"missing_some\":[2,[\"a\",\"b\",\"c\"]]}", data, "b,c");
  assert_fails("{\"missing\":[[[\"x\"]]]}", "{}");
  assert_fails("{\"missing_some\":[1,\"ab\"]}", "{}");
}

static void arrays_are_mapped_filtered_and_reduced(void **state) {
  const char *data = "{\"n\":[1,2,3],\"o\":[{\"q\":1},{\"q\":5}]}";
  assert_lists("{\"map\":[{\"var\":\"n\"},{\"*\":[{\"var\":\"\"},2]}]}", data, "2,4,6");
  assert_lists("{\"map\":[{\"var\":\"x\"},{\"*\":[{\"var\":\"\"},2]}]}", data, "");
  assert_lists("{\"filter\":[{\"var\":\"n\"},{\"%\":[{\"var\":\"\"},2]}]}", data, "1,3");
  assert_gives("{\"reduce\":[{\"var\":\"o\"},{\"+\":[{\"var\":\"accumulator\"},{\"var\":\"current.q\"}]},10]}", data,
               "16");
  assert_gives("{\"reduce\":[{\"var\":\"x\"},1,10]}", data, "10");
  assert_gives("{\"reduce\":[[],1]}", data, "null");
  assert_gives("{\"all\":[{\"var\":\"o\"},{\">\":[{\"var\":\"q\"},0]}]}", data, "true");
  assert_gives("{\"all\":[[],true]}", data, "false");
  assert_gives("{\"none\":[[],true]}", data, "true");
  assert_gives("{\"some\":[{\"var\":\"n\"},{\">\":[{\"var\":\"\"},2]}]}", data, "true");
  assert_gives("{\"some\":[\"text\",true]}", data, "false");
  assert_lists("{\"merge\":[1,[2,[3]],null]}", data, "1,2,3,");
  assert_gives("{\"in\":[2,{\"var\":\"n\"}]}", data, "true");
  assert_gives("{\"in\":[\"2\",{\"var\":\"n\"}]}", data, "false");
  assert_gives("{\"in\":[{\"var\":\"o.1\"},{\"var\":\"o\"}]}", data, "true");
}

static void text_is_joined_cut_and_searched(void **state) {
  assert_gives("{\"cat\":[\"a\",1,null,true,[1,null,[2]],1.50]}", "{}", "\"a1true1,,21.5\"");
  assert_gives("{\"cat\":[]}", "{}", "\"\"");
  assert_gives("{\"in\":[\"ring\",\"Springfield\"]}", "{}", "true");
  assert_gives("{\"in\":[1,\"213\"]}", "{}", "true");
  assert_gives("{\"in\":[\"\",\"\"]}", "{}", "false");
  assert_gives("{\"in\":[1,213]}", "{}", "false");
  assert_gives("{\"substr\":[\"jsonlogic\",4]}", "{}", "\"logic\"");
  assert_gives("{\"substr\":[\"jsonlogic\",-5,2]}", "{}", "\"lo\"");
  assert_gives("{\"substr\":[\"jsonlogic\",1,-5]}", "{}", "\"son\"");
  assert_gives("{\"substr\":[\"abc\",-9,2]}", "{}", "\"ab\"");
  assert_gives("{\"substr\":[\"abc\",5]}", "{}", "\"\"");
  assert_gives("{\"substr\":[\"a\\ud83d\\ude00b\",3]}", "{}", "\"b\"");
  assert_gives("{\"substr\":[\"a\\ud83d\\ude00b\",2]}", "{}", "\"\\ufffdb\"");
}

static void half_of_a_character_is_cut_off_only_if_something_is_cut(void **state) {
  assert_gives("{\"substr\":[\"a\\ud83d\\ude00b\",2,0]}", "{}", "\"\"");
  assert_gives("{\"substr\":[\"a\\ud83d\\ude00b\",0,2]}", "{}", "\"a\\ufffd\"");
}

static void a_malformed_expression_is_refused_with_its_place(void **state) {
  assert_refused("{\"nope\":[1]}", "/nope", "unknown operator \"nope\"");
  assert_refused("{\"log\":1}", "/log", "unknown operator \"log\"");
  assert_refused("{\"and\":[true,{\"x/y\":1}]}", "/and/1/x~1y", "unknown operator \"x/y\"");
  assert_refused("{\"==\":[1]}", "/==", "operator \"==\" needs at least 2 operands");
  assert_refused("{\"!\":[1,2]}", "/!", "operator \"!\" needs at most 1 operands");
  assert_refused("{\">\":[3,2,1]}", "/>", "operator \">\" needs at most 2 operands");
  assert_refused("{\"and\":[]}", "/and", "operator \"and\" needs at least 1 operands");
  assert_refused("{}", "", "an expression must be an object with exactly one operator");
  assert_refused("[1,{\"==\":[1,1],\"!=\":[1,1]}]", "/1", "an expression must be an object with exactly one operator");
}

static void an_expression_has_a_limit_of_depth_and_size(void **state) {
  struct buf b;
  struct arena a;
  struct fault f = {0};
  arena_init(&a);
  buf_init(&b, 1 << 20);
  for (int i = 0; i <= LOGIC_DEPTH_MAX; i++) buf_str(&b, STR("{\"!\":"));
  buf_char(&b, '1');
  for (int i = 0; i <= LOGIC_DEPTH_MAX; i++) buf_char(&b, '}');
  assert_null(logic_compile(&a, parse(&a, buf_view(&b)), &f));
  assert_int_equal(f.code, FAULT_LIMIT);
  buf_reset(&b);
  buf_char(&b, '[');
  for (int i = 0; i < LOGIC_NODES_MAX; i++) buf_str(&b, STR("1,"));
  buf_str(&b, STR("1]"));
  assert_null(logic_compile(&a, parse(&a, buf_view(&b)), &f));
  assert_string_equal(f.message, "the expression is too large");
  buf_done(&b);
  arena_done(&a);
}

static void work_beyond_the_budget_is_an_error(void **state) {
  const char *square = "{\"some\":[{\"var\":\"n\"},{\"all\":[[1,2,3,4,5,6,7,8],{\"==\":[{\"var\":\"\"},0]}]}]}";
  struct logic_budget few = {20, 1 << 20};
  assert_int_equal(verdict_of(square, "{\"n\":[1,2,3,4,5,6,7,8]}", &few), LOGIC_ERROR);
  assert_true(few.steps <= 20);
  // Each round doubles the text.
  const char *doubling = "{\"reduce\":[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"
                         "{\"cat\":[{\"var\":\"accumulator\"},{\"var\":\"accumulator\"}]},\"abcdefgh\"]}";
  struct logic_budget little = {1 << 20, 1 << 16};
  assert_int_equal(verdict_of(doubling, "{}", &little), LOGIC_ERROR);
  assert_true(little.bytes <= 1 << 16);
}

static void nested_arrays_that_an_expression_makes_do_not_exhaust_the_stack(void **state) {
  struct buf b;
  buf_init(&b, 1 << 20);
  buf_str(&b, STR("{\"n\":[0"));
  for (int i = 0; i < 5000; i++) buf_str(&b, STR(",0"));
  buf_str(&b, STR("]}"));
  buf_char(&b, 0);
  assert_fails("{\"cat\":[{\"reduce\":[{\"var\":\"n\"},[{\"var\":\"accumulator\"}],1]}]}", b.p);
  buf_done(&b);
}

static void constants_live_longer_than_the_source(void **state) {
  struct arena source, a;
  struct fault f;
  const char *why;
  char text[] = "{\"==\":[{\"var\":\"r\"},\"b\\u0061r\"]}";
  struct logic_budget budget = {1000, 1000};
  arena_init(&source);
  arena_init(&a);
  const struct logic *l = logic_compile(&a, parse(&source, str_of(text)), &f);
  memset(text, 'x', sizeof text);
  arena_done(&source);
  assert_int_equal(logic_test(l, parse(&a, STR("{\"r\":\"bar\"}")), &a, &budget, &why), LOGIC_TRUE);
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(var_reads_members_elements_and_defaults),
      cmocka_unit_test(truth_is_that_of_jsonlogic),
      cmocka_unit_test(equality_converts_as_in_javascript),
      cmocka_unit_test(order_is_by_number_or_by_text),
      cmocka_unit_test(arithmetic_takes_text_for_numbers),
      cmocka_unit_test(if_and_or_evaluate_only_what_they_need),
      cmocka_unit_test(missing_lists_absent_keys),
      cmocka_unit_test(arrays_are_mapped_filtered_and_reduced),
      cmocka_unit_test(text_is_joined_cut_and_searched),
      cmocka_unit_test(half_of_a_character_is_cut_off_only_if_something_is_cut),
      cmocka_unit_test(a_malformed_expression_is_refused_with_its_place),
      cmocka_unit_test(an_expression_has_a_limit_of_depth_and_size),
      cmocka_unit_test(work_beyond_the_budget_is_an_error),
      cmocka_unit_test(nested_arrays_that_an_expression_makes_do_not_exhaust_the_stack),
      cmocka_unit_test(constants_live_longer_than_the_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
