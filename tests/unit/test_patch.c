// SPDX-License-Identifier: Apache-2.0
// json/patch and json/relaxed: changes of a file that somebody wrote by hand, comments and layout kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/edit/patch.h"
#include "json/edit/relaxed.h"

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

static void expect(str got, const char *want) {
  if (!str_eq(got, str_of(want))) fail_msg("got:\n%.*s\nwant:\n%s", STR_ARG(got), want);
}

static void relaxes(const char *text, const char *want) {
  char *copy = arena_cstr(&arena, str_of(text));
  json_relax(copy, strlen(copy));
  expect(str_of(copy), want);
}

static bool in_list(void *ctx, const struct json *member) {
  for (const char *const *name = ctx; *name; name++)
    if (json_key_is(member, str_of(*name))) return true;
  return false;
}

// Changes the object at key "s", or the whole when there is none.
static void changes(const char *text, const char *const *drop, const char *key, const char *value, const char *want) {
  struct json_patch p, again;
  if (!json_patch_init(&p, &arena, str_of(text), &json_default_limits, &fault)) fail_msg("%s", fault.message);
  const struct json *object = json_get(p.root, STR("s"));
  json_patch_members(&p, object ? object : p.root, drop ? in_list : NULL, (void *)drop, str_of(key), str_of(value));
  str got = json_patch_apply(&p);
  expect(got, want);
  assert_true(json_patch_init(&again, &arena, got, &json_default_limits, &fault));
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void comments_and_trailing_commas_become_blanks(void **state) {
  relaxes("{\"a\": 1, // x\n \"b\": [1, 2,],}", "{\"a\": 1,     \n \"b\": [1, 2 ] }");
  relaxes("/* a\n b */{}", "    \n     {}");
  relaxes("{\"u\": \"http://x/*,]\\\"//\"}", "{\"u\": \"http://x/*,]\\\"//\"}");
  relaxes("[1, /* , */ // ]\n]", "[1              \n]");
  relaxes("[,] {,} [1,,]", "[,] {,} [1,,]");
  relaxes("[1] /* open", "[1] /* open");
  relaxes("\xef\xbb\xbf{}", "   {}");
  relaxes("\"open // \\", "\"open // \\");
}

static void comments_that_do_not_end_take_no_time(void **state) {
  enum { SIZE = 6 << 20 };
  char *text = arena_alloc(&arena, SIZE);
  for (size_t i = 0; i < SIZE; i++) text[i] = "/*a"[i % 3];
  json_relax(text, SIZE);
  assert_memory_equal(text, "/*a/*a", 6);
}

static void a_member_is_added_in_the_layout_of_its_object(void **state) {
  changes("{}", NULL, "a", "1", "{\n  \"a\": 1\n}");
  changes("{\n\t\"s\": {}\n}\n", NULL, "a", "{\"b\":[1,2]}",
          "{\n\t\"s\": {\n\t\t\"a\": {\n\t\t\t\"b\": [1, 2]\n\t\t}\n\t}\n}\n");
  changes("{\n    \"s\": {\n        \"x\": 1\n    }\n}", NULL, "a", "{}",
          "{\n    \"s\": {\n        \"x\": 1,\n        \"a\": {}\n    }\n}");
  changes("{\"s\": {\"x\": 1}}", NULL, "a", "2", "{\"s\": {\"x\": 1,\n  \"a\": 2\n}}");
  changes("{\n  \"x\": 1, // last\n}", NULL, "a", "2", "{\n  \"x\": 1,\n  \"a\": 2 // last\n}");
  changes("{\n  \"x\": 1 // last\n}", NULL, "a", "2", "{\n  \"x\": 1,\n  \"a\": 2 // last\n}");
}

static void a_member_goes_with_its_line_and_comma(void **state) {
  changes("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", NAMES("b"), NULL, "", "{\n  \"a\": 1,\n  \"c\": 3\n}");
  changes("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", NAMES("c"), NULL, "", "{\n  \"a\": 1,\n  \"b\": 2\n}");
  changes("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", NAMES("b", "c"), NULL, "", "{\n  \"a\": 1\n}");
  changes("{\n  \"a\": 1,\n  \"b\": 2\n}", NAMES("a", "b"), NULL, "", "{\n}");
  changes("{\"a\": 1, \"b\": 2}", NAMES("a"), NULL, "", "{ \"b\": 2}");
  changes("{\"a\": 1, \"b\": 2,}", NAMES("b"), NULL, "", "{\"a\": 1}");
  changes("{\"a\": 1}", NAMES("z"), NULL, "", "{\"a\": 1}");
}

static void comments_stay_and_never_swallow_what_follows(void **state) {
  changes("{\n  // of a\n  \"a\": 1, // also\n  // of b\n  \"b\": 2 }", NAMES("b"), NULL, "",
          "{\n  // of a\n  \"a\": 1 // also\n  // of b\n }");
  changes("{ // first\n  \"a\": 1 }", NAMES("a"), "t", "2", "{\n  \"t\": 2\n // first\n }");
  changes("{ /* x */ \"a\": 1 /* y */, /* z */ \"b\": 2 }", NAMES("a"), NULL, "", "{ /* x */ /* z */ \"b\": 2 }");
}

static void members_go_and_another_comes_in_one_change(void **state) {
  changes("{\n  \"k\": 0,\n  \"s\": {\n    \"a\": {\"x\": 1},\n    \"b\": {\"x\": 2}\n  },\n  \"z\": 9\n}\n",
          NAMES("a", "b"), "t", "{\"command\":\"c\"}",
          "{\n  \"k\": 0,\n  \"s\": {\n    \"t\": {\n      \"command\": \"c\"\n    }\n  },\n  \"z\": 9\n}\n");
  changes("{\"s\": {\"a\": 1, \"b\": 2, \"c\": 3}}", NAMES("a", "c"), "t", "4", "{\"s\": { \"b\": 2,\n  \"t\": 4\n}}");
}

static void a_value_is_replaced_in_place(void **state) {
  struct json_patch p;
  assert_true(json_patch_init(&p, &arena, STR("{\n  \"a\": 1, // one\n  \"b\": 2\n}"), &json_default_limits, &fault));
  json_patch_replace(&p, json_get(p.root, STR("a")), STR("{\"x\":[]}"));
  expect(json_patch_apply(&p), "{\n  \"a\": {\n    \"x\": []\n  }, // one\n  \"b\": 2\n}");
}

static void what_is_no_json_is_refused_with_its_place(void **state) {
  struct json_patch p;
  assert_false(json_patch_init(&p, &arena, STR("{\n  // x\n  \"a\" 1\n}"), &json_default_limits, &fault));
  assert_string_equal(fault.path, "line 3, column 7");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(comments_and_trailing_commas_become_blanks, set_up, tear_down),
      cmocka_unit_test_setup_teardown(comments_that_do_not_end_take_no_time, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_member_is_added_in_the_layout_of_its_object, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_member_goes_with_its_line_and_comma, set_up, tear_down),
      cmocka_unit_test_setup_teardown(comments_stay_and_never_swallow_what_follows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(members_go_and_another_comes_in_one_change, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_value_is_replaced_in_place, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_no_json_is_refused_with_its_place, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
