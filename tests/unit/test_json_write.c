// SPDX-License-Identifier: Apache-2.0
// json/: writing, editing, pointers, canonical forms.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/utf8.h"
#include "json/canon.h"
#include "json/pointer.h"
#include "json/write.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct arena arena;
static struct fault fault;

static int set_up(void **state) {
  arena_init(&arena);
  return 0;
}

static int tear_down(void **state) {
  arena_done(&arena);
  return 0;
}

static struct json *must_parse(const char *text) {
  struct json *v = json_parse(&arena, str_of(text), &json_default_limits, &fault);
  if (!v) fail_msg("refused: %s: %s (%s)", text, fault.message, fault.path);
  return v;
}

static void expect_str(str got, const char *want) {
  if (!str_eq(got, (str){want, strlen(want)})) fail_msg("got %.*s, want %s", STR_ARG(got), want);
}

static void the_writer_puts_commas_and_escapes(void **state) {
  struct buf b;
  buf_init(&b, 1000);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_put_key(&w, STR("a\"\\"));
  json_begin_array(&w);
  json_put_int(&w, INT64_MIN);
  json_put_int(&w, 7);
  json_put_u64(&w, UINT64_MAX);
  json_put_bool(&w, true);
  json_put_bool(&w, false);
  json_put_null(&w);
  json_begin_object(&w);
  json_end_object(&w);
  json_put_raw(&w, STR("[ 1 ]"));
  json_begin_array(&w);
  json_end_array(&w);
  json_end_array(&w);
  json_put_key(&w, STR("b"));
  json_put_str(&w, STR("\b\f\n\r\t\x01\x1f\x7f/ \xc3\xa9\xf0\x9f\x98\x80"));
  json_end_object(&w);
  expect_str(buf_view(&b), "{\"a\\\"\\\\\":[-9223372036854775808,7,18446744073709551615,true,false,null,{},[ 1 ],[]],"
                           "\"b\":\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/ \xc3\xa9\xf0\x9f\x98\x80\"}");
  buf_done(&b);
}

static void a_member_is_a_key_and_its_value(void **state) {
  struct buf b;
  buf_init(&b, 1000);
  struct json_writer w = json_writer(&b);
  json_begin_object(&w);
  json_member_str(&w, STR("s\n"), STR("\""));
  json_member_raw(&w, STR("r"), STR("[ ]"));
  json_member_int(&w, STR("i"), -1);
  json_member_u64(&w, STR("u"), UINT64_MAX);
  json_member_bool(&w, STR("b"), true);
  json_end_object(&w);
  expect_str(buf_view(&b), "{\"s\\n\":\"\\\"\",\"r\":[ ],\"i\":-1,\"u\":18446744073709551615,\"b\":true}");
  buf_done(&b);
}

static void invalid_utf8_becomes_the_replacement_character(void **state) {
  struct buf b;
  buf_init(&b, 100);
  json_escape(&b, STR("a\xff\xc3(\xe2\x82"));
  expect_str(buf_view(&b), "\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\"");
  buf_reset(&b);
  json_escape(&b, STR_NONE);
  expect_str(buf_view(&b), "\"\"");
  buf_done(&b);
}

static void a_full_buffer_is_noticed_at_the_end(void **state) {
  struct buf b;
  buf_init(&b, 10);
  struct json_writer w = json_writer(&b);
  json_begin_array(&w);
  for (int i = 0; i < 100; i++) json_put_str(&w, STR("abc"));
  json_end_array(&w);
  assert_true(b.over);
  assert_true(b.n <= 10);
  buf_done(&b);
}

static void every_character_survives_writing_and_parsing(void **state) {
  struct buf b;
  buf_init(&b, 100);
  for (uint32_t c = 0; c < 0x110000; c++) {
    if (c >= 0xd800 && c < 0xe000) continue;
    char text[4];
    str s = {text, utf8_put(c, text)};
    buf_reset(&b);
    json_escape(&b, s);
    struct json *v = json_parse(&arena, buf_view(&b), &json_default_limits, &fault);
    assert_true(json_equals_str(v, s));
    arena_reset(&arena);
  }
  buf_done(&b);
}

static void expect_edited(const char *object, const struct json_edit *edits, size_t count, const char *want) {
  struct buf b;
  buf_init(&b, 1000);
  json_copy_edited(&b, must_parse(object), edits, count);
  expect_str(buf_view(&b), want);
  must_parse(want);
  buf_done(&b);
}

static void a_copy_without_edits_is_the_same_bytes(void **state) {
  const char *object = "{ \"a\" : 1.00 ,\n\t\"\\u0062\" : [ \"\\/\" ] }";
  expect_edited(object, NULL, 0, object);
  expect_edited("{ }", NULL, 0, "{ }");
}

static void an_edit_changes_one_value_and_nothing_else(void **state) {
  struct json_edit id = {STR("id"), STR("\"new\"")};
  expect_edited("{ \"a\" : 1.00 , \"id\" : 7 , \"z\" : [ ] }", &id, 1,
                "{ \"a\" : 1.00 , \"id\" : \"new\" , \"z\" : [ ] }");
  expect_edited("{\"\\u0069d\":7}", &id, 1, "{\"\\u0069d\":\"new\"}");
  expect_edited("{\"a\":{\"id\":7},\"id\":8}", &id, 1, "{\"a\":{\"id\":7},\"id\":\"new\"}");
}

static void edits_of_missing_keys_are_appended_in_their_order(void **state) {
  struct json_edit edits[] = {{STR("x\n"), STR("1")}, {STR("gone"), STR_NONE}, {STR("y"), STR("[2]")}};
  expect_edited("{}", edits, 3, "{\"x\\n\":1,\"y\":[2]}");
  expect_edited("{ \"a\" : 0 }", edits, 3, "{ \"a\" : 0,\"x\\n\":1,\"y\":[2] }");
  expect_edited("{\"y\":0,\"a\":0}", edits, 3, "{\"y\":[2],\"a\":0,\"x\\n\":1}");
}

static void a_removed_member_takes_its_comma_along(void **state) {
  static const struct {
    const char *object, *remove[3], *want;
  } cases[] = {
      {"{\"a\":1,\"b\":2,\"c\":3}", {"a"}, "{\"b\":2,\"c\":3}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", {"b"}, "{\"a\":1,\"c\":3}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", {"c"}, "{\"a\":1,\"b\":2}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", {"a", "b"}, "{\"c\":3}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", {"c", "a"}, "{\"b\":2}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", {"b", "c"}, "{\"a\":1}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", {"a", "b", "c"}, "{}"},
      {"{ \"a\" : 1 , \"b\" : 2 }", {"a"}, "{ \"b\" : 2 }"},
      {"{ \"a\" : 1 , \"b\" : 2 }", {"b"}, "{ \"a\" : 1 }"},
      {"{ \"a\" : 1 }", {"a"}, "{  }"},
      {"{\"a\":1}", {"b"}, "{\"a\":1}"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct json_edit edits[3];
    size_t n = 0;
    for (; n < 3 && cases[i].remove[n]; n++) edits[n] = (struct json_edit){str_of(cases[i].remove[n]), STR_NONE};
    expect_edited(cases[i].object, edits, n, cases[i].want);
  }
  struct json_edit swap[] = {{STR("a"), STR_NONE}, {STR("b"), STR("0")}, {STR("c"), STR_NONE}, {STR("d"), STR("4")}};
  expect_edited("{\"a\":1,\"b\":2,\"c\":3}", swap, 4, "{\"b\":0,\"d\":4}");
  expect_edited("{\"c\":1,\"a\":2}", swap, 4, "{\"b\":0,\"d\":4}");
  expect_edited("{\"b\":1,\"a\":2}", swap, 3, "{\"b\":0}");
  expect_edited("{\"d\":1}", swap, 4, "{\"d\":4,\"b\":0}");
}

static void pointers_find_what_rfc_6901_says(void **state) {
  struct json *v = must_parse("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,"
                              "\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8,\"~1\":9,\"x\":{\"\":{\"\":10}}}");
  static const char *const found[][2] = {{"/foo", "[\"bar\",\"baz\"]"},
                                         {"/foo/0", "\"bar\""},
                                         {"/foo/1", "\"baz\""},
                                         {"/", "0"},
                                         {"/a~1b", "1"},
                                         {"/c%d", "2"},
                                         {"/e^f", "3"},
                                         {"/g|h", "4"},
                                         {"/i\\j", "5"},
                                         {"/k\"l", "6"},
                                         {"/ ", "7"},
                                         {"/m~0n", "8"},
                                         {"/~01", "9"},
                                         {"/x//", "10"},
                                         {"/x/", "{\"\":10}"}};
  for (size_t i = 0; i < COUNT(found); i++) {
    struct json *at = json_pointer_find(v, str_of(found[i][0]));
    if (!at) fail_msg("%s not found", found[i][0]);
    expect_str(json_span(at), found[i][1]);
  }
  assert_ptr_equal(json_pointer_find(v, STR("")), v);
  static const char *const missing[] = {"foo",
                                        "/nope",
                                        "/foo/2",
                                        "/foo/-",
                                        "/foo/00",
                                        "/foo/01",
                                        "/foo/",
                                        "/foo/1x",
                                        "/foo/+1",
                                        "/foo/0/0",
                                        "/m~n",
                                        "/m~",
                                        "/m~2n",
                                        "/a~1b~",
                                        "//",
                                        "#/foo",
                                        "/foo/18446744073709551616"};
  for (size_t i = 0; i < COUNT(missing); i++)
    if (json_pointer_find(v, str_of(missing[i]))) fail_msg("%s found", missing[i]);
  assert_null(json_pointer_find(NULL, STR("/a")));
}

static void pointers_are_built_token_by_token(void **state) {
  struct buf b;
  buf_init(&b, 100);
  json_pointer_push(&b, STR("a/b"));
  json_pointer_push(&b, STR("m~n"));
  json_pointer_push(&b, STR(""));
  json_pointer_push(&b, STR("0"));
  expect_str(buf_view(&b), "/a~1b/m~0n//0");
  buf_done(&b);
}

static void expect_canon(const char *text, enum json_canon form, const char *want) {
  struct buf b;
  buf_init(&b, 10000);
  if (!json_canon(&b, must_parse(text), form, &fault)) fail_msg("%s: %s", text, fault.message);
  expect_str(buf_view(&b), want);
  buf_done(&b);
}

static void numbers_have_one_canonical_form(void **state) {
  // text, ECMAScript, Python
  static const char *const golden[][3] = {
      {"0", "0", "0"},
      {"-0", "0", "0"},
      {"0.0", "0", "0.0"},
      {"-0.0", "0", "-0.0"},
      {"0e5", "0", "0.0"},
      {"1", "1", "1"},
      {"-1", "-1", "-1"},
      {"1.0", "1", "1.0"},
      {"-1.5", "-1.5", "-1.5"},
      {"10", "10", "10"},
      {"100", "100", "100"},
      {"1e2", "100", "100.0"},
      {"1e15", "1000000000000000", "1000000000000000.0"},
      {"1e16", "10000000000000000", "1e+16"},
      {"1e17", "100000000000000000", "1e+17"},
      {"123456789012345678", "123456789012345680", "123456789012345678"},
      {"12345678901234567890", "12345678901234567000", "12345678901234567890"},
      {"1e20", "100000000000000000000", "1e+20"},
      {"1e21", "1e+21", "1e+21"},
      {"1e22", "1e+22", "1e+22"},
      {"1.5e21", "1.5e+21", "1.5e+21"},
      {"999999999999999900000", "999999999999999900000", "999999999999999900000"},
      {"0.1", "0.1", "0.1"},
      {"0.5", "0.5", "0.5"},
      {"1.25", "1.25", "1.25"},
      {"0.001", "0.001", "0.001"},
      {"0.0001", "0.0001", "0.0001"},
      {"0.00001", "0.00001", "1e-05"},
      {"0.000001", "0.000001", "1e-06"},
      {"0.0000001", "1e-7", "1e-07"},
      {"1e-5", "0.00001", "1e-05"},
      {"1e-6", "0.000001", "1e-06"},
      {"1e-7", "1e-7", "1e-07"},
      {"1.5e-7", "1.5e-7", "1.5e-07"},
      {"0.000012345", "0.000012345", "1.2345e-05"},
      {"333333333.33333329", "333333333.3333333", "333333333.3333333"},
      {"1E30", "1e+30", "1e+30"},
      {"4.50", "4.5", "4.5"},
      {"2e-3", "0.002", "0.002"},
      {"0.000000000000000000000000001", "1e-27", "1e-27"},
      {"5e-324", "5e-324", "5e-324"},
      {"4.9e-324", "5e-324", "5e-324"},
      {"1e-323", "1e-323", "1e-323"},
      {"2.2250738585072014e-308", "2.2250738585072014e-308", "2.2250738585072014e-308"},
      {"2.225073858507201e-308", "2.225073858507201e-308", "2.225073858507201e-308"},
      {"1.7976931348623157e308", "1.7976931348623157e+308", "1.7976931348623157e+308"},
      {"-1.7976931348623157e308", "-1.7976931348623157e+308", "-1.7976931348623157e+308"},
      {"9007199254740991", "9007199254740991", "9007199254740991"},
      {"9007199254740992", "9007199254740992", "9007199254740992"},
      {"9007199254740993", "9007199254740992", "9007199254740993"},
      {"9007199254740993.0", "9007199254740992", "9007199254740992.0"},
      {"9007199254740994", "9007199254740994", "9007199254740994"},
      {"295147905179352830000", "295147905179352830000", "295147905179352830000"},
      {"5.684341886080802e-14", "5.684341886080802e-14", "5.684341886080802e-14"},
      {"5.6843418860808015e-14", "5.684341886080802e-14", "5.684341886080802e-14"},
      {"9.5367431640625e-07", "9.5367431640625e-7", "9.5367431640625e-07"},
      {"1.0000000000000002", "1.0000000000000002", "1.0000000000000002"},
      {"123.456e-10", "1.23456e-8", "1.23456e-08"},
      {"123456.789", "123456.789", "123456.789"},
      {"1e23", "1e+23", "1e+23"},
      {"9.999999999999999e22", "1e+23", "1e+23"},
      {"0.30000000000000004", "0.30000000000000004", "0.30000000000000004"},
      {"1e-400", "0", "0.0"},
      {"-1e-400", "0", "-0.0"},
      {"100000000000000000000000000000000000000000000000000", "1e+50",
       "100000000000000000000000000000000000000000000000000"},
      {"-100000000000000000000000", "-1e+23", "-100000000000000000000000"},
      {"4.35", "4.35", "4.35"},
      {"4.349999999999999", "4.349999999999999", "4.349999999999999"},
      {"2.0000000000000004", "2.0000000000000004", "2.0000000000000004"},
      {"1424953923781206.2", "1424953923781206.2", "1424953923781206.2"},
  };
  for (size_t i = 0; i < COUNT(golden); i++) {
    expect_canon(golden[i][0], JSON_CANON_JCS, golden[i][1]);
    expect_canon(golden[i][0], JSON_CANON_PYTHON, golden[i][2]);
  }
}

static void strings_have_one_canonical_form(void **state) {
  const char *text =
      "\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\\b\\f\\r\\t\x7f \xc3\xa9 \\ud83d\\ude00\"";
  expect_canon(text, JSON_CANON_JCS,
               "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\f\\r\\t\x7f \xc3\xa9 \xf0\x9f\x98\x80\"");
  expect_canon(text, JSON_CANON_PYTHON,
               "\"\\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\f\\r\\t\\u007f \\u00e9 \\ud83d\\ude00\"");
}

static void keys_are_sorted_by_utf16_or_by_code_point(void **state) {
  // The example of RFC 8785, section 3.2.3.
  const char *text = "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,\"\\u00f6\":7}";
  expect_canon(text, JSON_CANON_JCS,
               "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,\"\xf0\x9f\x98\x80\":5,"
               "\"\xef\xac\xb3\":3}");
  expect_canon(text, JSON_CANON_PYTHON,
               "{\"\\r\":2,\"1\":4,\"\\u0080\":6,\"\\u00f6\":7,\"\\u20ac\":1,\"\\ufb33\":3,\"\\ud83d\\ude00\":5}");
  text = "{\"\xef\xbf\xbf\":1,\"\xee\x80\x80\":2,\"\xf4\x8f\xbf\xbf\":3,\"\xed\x9f\xbf\":4,\"\":5}";
  expect_canon(text, JSON_CANON_JCS,
               "{\"\":5,\"\xed\x9f\xbf\":4,\"\xf4\x8f\xbf\xbf\":3,\"\xee\x80\x80\":2,\"\xef\xbf\xbf\":1}");
}

static void white_space_and_order_do_not_matter_to_a_canonical_form(void **state) {
  const char *text =
      " { \"b\" : [ true , null , { } , [ ] , false ] ,\n \"a\" : { \"y\" : 1 , \"x\" : \"\" } , \"ab\":0 } ";
  const char *want = "{\"a\":{\"x\":\"\",\"y\":1},\"ab\":0,\"b\":[true,null,{},[],false]}";
  expect_canon(text, JSON_CANON_JCS, want);
  expect_canon(text, JSON_CANON_PYTHON, want);
}

static void the_exact_form_sorts_keys_and_keeps_every_digit(void **state) {
  expect_canon("{\"b\":1.0, \"a\":[9007199254740993,1e999 ],\"\\u0061b\":\"\\u00e9\"}", JSON_CANON_EXACT,
               "{\"a\":[9007199254740993,1e999],\"ab\":\"é\",\"b\":1.0}");
}

static void a_number_beyond_the_doubles_has_no_canonical_form(void **state) {
  struct buf b;
  buf_init(&b, 1000);
  assert_false(json_canon(&b, must_parse("[1,{\"a\":1E400}]"), JSON_CANON_JCS, &fault));
  assert_int_equal(fault.code, FAULT_INVALID);
  assert_string_equal(fault.message, "the number 1E400 is too large for a double");
  assert_false(json_canon(&b, must_parse("[-1e999999999]"), JSON_CANON_PYTHON, &fault));
  buf_done(&b);
}

static void compact_text_has_no_blanks_but_those_in_strings(void **state) {
  struct arena a;
  arena_init(&a);
  str text = json_compacted(&a, STR(" { \"a b\" : [ 1 ,\t2 ] ,\r\n \"q\\\" : \\\\\" : \" x \" , \"n\" : -1.50e+3 } "));
  assert_true(str_eq(text, STR("{\"a b\":[1,2],\"q\\\" : \\\\\":\" x \",\"n\":-1.50e+3}")));
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_writer_puts_commas_and_escapes),
      cmocka_unit_test(the_exact_form_sorts_keys_and_keeps_every_digit),
      cmocka_unit_test(a_member_is_a_key_and_its_value),
      cmocka_unit_test(invalid_utf8_becomes_the_replacement_character),
      cmocka_unit_test(a_full_buffer_is_noticed_at_the_end),
      cmocka_unit_test(every_character_survives_writing_and_parsing),
      cmocka_unit_test(a_copy_without_edits_is_the_same_bytes),
      cmocka_unit_test(an_edit_changes_one_value_and_nothing_else),
      cmocka_unit_test(edits_of_missing_keys_are_appended_in_their_order),
      cmocka_unit_test(a_removed_member_takes_its_comma_along),
      cmocka_unit_test(compact_text_has_no_blanks_but_those_in_strings),
      cmocka_unit_test(pointers_find_what_rfc_6901_says),
      cmocka_unit_test(pointers_are_built_token_by_token),
      cmocka_unit_test(numbers_have_one_canonical_form),
      cmocka_unit_test(strings_have_one_canonical_form),
      cmocka_unit_test(keys_are_sorted_by_utf16_or_by_code_point),
      cmocka_unit_test(white_space_and_order_do_not_matter_to_a_canonical_form),
      cmocka_unit_test(a_number_beyond_the_doubles_has_no_canonical_form),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
