// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "call/controls/checkers.h"

static const struct hash_key seed = {1, 2};

static int setup(void **state) {
  *state = checkers_new("inputSchema", &schema_default_options, &seed);
  return 0;
}

static int teardown(void **state) {
  checkers_free((struct checkers **)state);
  return 0;
}

static struct item tool(const char *name, const char *definition) {
  return (struct item){.kind = ITEM_TOOL, .name = str_of(name), .text = str_of(definition)};
}

static bool get(struct checkers *k, const struct item *t, uint64_t generation, const struct schema **out) {
  struct fault f;
  *out = NULL;
  return checkers_get(k, STR("s"), t, generation, out, &f);
}

#define NUMBER "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}}}}"

static void a_schema_is_compiled_once_for_many_calls(void **state) {
  const struct schema *first, *s;
  struct item t = tool("t", NUMBER);
  assert_true(get(*state, &t, 1, &first));
  assert_non_null(first);
  for (int i = 0; i < 3; i++) {
    assert_true(get(*state, &t, 1, &s));
    assert_ptr_equal(s, first);
  }
  assert_int_equal(checkers_compiled(*state), 1);
}

static void another_catalog_with_the_same_schema_compiles_nothing(void **state) {
  const struct schema *s;
  struct item t = tool("t", NUMBER);
  get(*state, &t, 1, &s);
  t.text = STR("{\"name\":\"t\",\"description\":\"other words\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
               "{\"a\":{\"type\":\"number\"}}}}");
  assert_true(get(*state, &t, 2, &s));
  assert_int_equal(checkers_compiled(*state), 1);
}

static void a_schema_that_changed_is_compiled_anew(void **state) {
  const struct schema *s;
  struct item t = tool("t", NUMBER);
  get(*state, &t, 1, &s);
  t.text = STR("{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"required\":[\"b\"]}}");
  assert_true(get(*state, &t, 2, &s));
  assert_int_equal(checkers_compiled(*state), 2);
  assert_int_equal(checkers_count(*state), 1);
  assert_non_null(json_get(schema_source(s), STR("required")));
}

static void a_tool_without_a_schema_takes_anything(void **state) {
  static const char *const none[] = {"{}", "{\"inputSchema\":{}}", "{\"inputSchema\":null}"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    const struct schema *s;
    struct item t = tool("t", none[i]);
    assert_true(get(*state, &t, i + 1, &s));
    assert_null(s);
  }
  assert_int_equal(checkers_compiled(*state), 0);
}

static void what_is_no_schema_is_told_with_its_place_each_time(void **state) {
  struct item t = tool("t", "{\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"strnig\"}}}}");
  for (int i = 0; i < 3; i++) {
    const struct schema *s;
    struct fault f;
    assert_false(checkers_get(*state, STR("s"), &t, 1, &s, &f));
    assert_string_equal(f.path, "/properties/a/type");
  }
  assert_int_equal(checkers_compiled(*state), 1);
}

static void tools_of_two_servers_are_two(void **state) {
  const struct schema *a, *b;
  struct fault f;
  struct item t = tool("t", NUMBER), other = tool("t", "{\"inputSchema\":{\"type\":\"object\"}}");
  assert_true(checkers_get(*state, STR("one"), &t, 1, &a, &f));
  assert_true(checkers_get(*state, STR("two"), &other, 1, &b, &f));
  assert_ptr_not_equal(a, b);
  assert_true(checkers_get(*state, STR("one"), &t, 1, &b, &f));
  assert_ptr_equal(a, b);
}

static void the_number_of_them_is_bounded(void **state) {
  char name[16];
  for (int i = 0; i < 3000; i++) {
    const struct schema *s;
    snprintf(name, sizeof name, "t%d", i);
    struct item t = tool(name, NUMBER);
    assert_true(get(*state, &t, 1, &s));
  }
  assert_int_equal(checkers_count(*state), 1024);
}

static void a_pin_follows_the_schema_and_not_the_rest_of_the_definition(void **state) {
  struct item t = tool("t", "{\"inputSchema\":{\"type\":\"object\",\"b\":1.0,\"a\":2}}");
  str first = checkers_pin(*state, STR("s"), &t, 1);
  char kept[80];
  assert_int_equal(first.n, 71);
  memcpy(kept, first.p, first.n);
  t.text = STR("{\"description\":\"more\",\"inputSchema\":{\"a\":2, \"b\":1,\"type\":\"object\"}}");
  assert_memory_equal(checkers_pin(*state, STR("s"), &t, 2).p, kept, 71);
  t.text = STR("{\"inputSchema\":{\"a\":3,\"b\":1,\"type\":\"object\"}}");
  assert_memory_not_equal(checkers_pin(*state, STR("s"), &t, 3).p, kept, 71);
  t.text = STR("{\"inputSchema\":null}");
  assert_null(checkers_pin(*state, STR("s"), &t, 4).p);
  assert_int_equal(checkers_compiled(*state), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_schema_is_compiled_once_for_many_calls),
      TEST(another_catalog_with_the_same_schema_compiles_nothing),
      TEST(a_schema_that_changed_is_compiled_anew),
      TEST(a_tool_without_a_schema_takes_anything),
      TEST(what_is_no_schema_is_told_with_its_place_each_time),
      TEST(tools_of_two_servers_are_two),
      TEST(a_pin_follows_the_schema_and_not_the_rest_of_the_definition),
      TEST(the_number_of_them_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
