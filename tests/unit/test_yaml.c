// SPDX-License-Identifier: Apache-2.0
// YAML becomes JSON text by the 1.2 core schema, within limits, and mistakes have a line and a column.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "app/config/yaml.h"
#include "json/json.h"

enum { MAX_JSON = 1 << 20 };

static void gives(const char *yaml, const char *json) {
  struct buf out;
  struct fault f = {0};
  buf_init(&out, MAX_JSON);
  if (!yaml_to_json(str_of(yaml), &out, &f)) fail_msg("%s: %s: %s", yaml, f.path, f.message);
  if (!str_eq(buf_view(&out), str_of(json))) fail_msg("%s gives %.*s, not %s", yaml, STR_ARG(buf_view(&out)), json);
  struct arena a;
  arena_init(&a);
  assert_non_null(json_parse(&a, buf_view(&out), &json_default_limits, &f));
  arena_done(&a);
  buf_done(&out);
}

static void fails(const char *yaml, const char *path, const char *part_of_message) {
  struct buf out;
  struct fault f = {0};
  buf_init(&out, MAX_JSON);
  if (yaml_to_json(str_of(yaml), &out, &f)) fail_msg("%s gives %.*s", yaml, STR_ARG(buf_view(&out)));
  assert_string_equal(f.path, path);
  if (!strstr(f.message, part_of_message)) fail_msg("%s: %s", yaml, f.message);
  buf_done(&out);
}

static void maps_and_lists_become_objects_and_arrays(void **state) {
  gives("a: 1\nb:\n  - x\n  - y: {z: [1, 2]}\n", "{\"a\":1,\"b\":[\"x\",{\"y\":{\"z\":[1,2]}}]}");
  gives("{\"a\": [true, null, \"t\\u00e4\"]}", "{\"a\":[true,null,\"tä\"]}");
  gives("1: one\ntrue: two\n", "{\"1\":\"one\",\"true\":\"two\"}");
  gives("text: |\n  two\n  lines\nfolded: >-\n  one\n  line\n",
        "{\"text\":\"two\\nlines\\n\",\"folded\":\"one line\"}");
}

static void an_empty_stream_is_null(void **state) {
  gives("", "null");
  gives("# only a comment\n", "null");
  gives("---\n", "null");
  gives("---\na: 1\n...\n", "{\"a\":1}");
}

static void plain_scalars_follow_the_core_schema(void **state) {
  gives("[~, null, Null, NULL, ]", "[null,null,null,null]");
  gives("[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]");
  gives("[yes, no, on, off, y, nULL, tRUE]", "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"nULL\",\"tRUE\"]");
  gives("[0, 007, +12, -3, 0o17, 0x1F, -0]", "[0,7,12,-3,15,31,-0]");
  gives("[1.5, .5, 5., -.25, 1e3, 1.E+2, 00.10]", "[1.5,0.5,5,-0.25,1e3,1e+2,0.10]");
  gives("[1_000, 0b11, 1:30, 0o8, 0x, e5, ., +, 1e, 1.2.3]",
        "[\"1_000\",\"0b11\",\"1:30\",\"0o8\",\"0x\",\"e5\",\".\",\"+\",\"1e\",\"1.2.3\"]");
  gives("[127.0.0.1, 4MiB, 2001-01-01]", "[\"127.0.0.1\",\"4MiB\",\"2001-01-01\"]");
}

static void quoted_scalars_are_text(void **state) {
  gives("['1', \"true\", '', \"a\\tb\\0\"]", "[\"1\",\"true\",\"\",\"a\\tb\\u0000\"]");
}

static void core_tags_are_obeyed_and_others_refused(void **state) {
  gives("[!!str 1, ! 2, !!int \"3\", !!bool 'true', !!null '', !!float 4, !!seq [], !!map {}]",
        "[\"1\",\"2\",3,true,null,4,[],{}]");
  fails("a: !!int x", "line 1, column 4", "does not fit");
  fails("a: !!binary aGk=", "line 1, column 4", "tag");
  fails("a: !secret x", "line 1, column 4", "!secret");
  fails("a: !!set {x}", "line 1, column 4", "tag");
}

static void numbers_that_json_cannot_write_are_refused(void **state) {
  fails("a: 1\nb: .inf\n", "line 2, column 4", ".inf");
  fails("[-.INF]", "line 1, column 2", "finite");
  fails("[.NaN]", "line 1, column 2", "finite");
}

static void an_alias_is_a_copy_of_its_anchor(void **state) {
  gives("a: &x {k: [1, two]}\nb: *x\nc: [*x, *x]\n",
        "{\"a\":{\"k\":[1,\"two\"]},\"b\":{\"k\":[1,\"two\"]},\"c\":[{\"k\":[1,\"two\"]},{\"k\":[1,\"two\"]}]}");
  gives("[&a 1, *a, &a 2, *a, &b [*a, &c 3], *c, *b]", "[1,1,2,2,[2,3],3,[2,3]]");
  fails("a: *x\n", "line 1, column 4", "no anchor");
  fails("a: &x\n  b: *x\n", "line 2, column 6", "inside");
  fails("&x [*x]", "line 1, column 5", "inside");
}

static void keys_are_single_texts(void **state) {
  fails("? [a]\n: 1\n", "line 1, column 3", "key");
  fails("a: &x k\n*x : 1\n", "line 2, column 1", "key");
  fails("a: &x {k: 1}\nb:\n  <<: *x\n", "line 3, column 3", "merge");
  gives("'<<': 1", "{\"<<\":1}");
}

static void duplicate_keys_are_refused_where_they_stand(void **state) {
  fails("a: 1\nb: 2\na: 3\n", "line 3, column 1", "\"a\"");
  fails("{x: {k: 1, \"k\": 2}}", "line 1, column 12", "twice");
  gives("{x: {k: 1}, y: {k: 2}, k: [k, k]}", "{\"x\":{\"k\":1},\"y\":{\"k\":2},\"k\":[\"k\",\"k\"]}");
}

static void a_second_document_is_refused(void **state) {
  fails("a: 1\n---\nb: 2\n", "line 2, column 1", "second YAML document");
}

static void mistakes_have_a_line_and_a_column(void **state) {
  fails("a: 1\n  b: 2\n", "line 2, column 4", "not allowed");
  fails("a: [1, 2\nb: 3\n", "line 2, column 2", "expected");
  fails("a: 'open\n", "line 2, column 1", "end of stream");
  fails("a: 1\nb: \xff\n", "line 2, column 4", "UTF-8");
  fails("a: \x01\n", "line 1, column 4", "control");
}

// Nine levels of nine references each: 387 million values if nobody stops them.
static void aliases_cannot_expand_without_end(void **state) {
  struct buf yaml;
  buf_init(&yaml, 65536);
  buf_str(&yaml, STR("a0: &a0 [x, x, x, x, x, x, x, x, x]\n"));
  for (int i = 1; i < 9; i++) {
    buf_printf(&yaml, "a%d: &a%d [", i, i);
    for (int k = 0; k < 9; k++) buf_printf(&yaml, "%s*a%d", k ? ", " : "", i - 1);
    buf_str(&yaml, STR("]\n"));
  }
  buf_char(&yaml, 0);
  fails(yaml.p, "line 6, column 10", "100000");
  buf_done(&yaml);
}

static void directives_cannot_take_long(void **state) {
  struct buf text;
  buf_init(&text, 1 << 20);
  for (int i = 0; i < 101; i++) buf_printf(&text, "%%TAG !a%d! x\r", i);
  buf_str(&text, STR("--- a"));
  buf_char(&text, 0);
  fails(text.p, "line 1, column 1291", "there are more than 100 %TAG directives");
  buf_done(&text);
  gives("%TAG !e! tag:yaml.org,2002:\n--- !e!str 1\n", "\"1\"");
}

static void long_texts_cannot_be_multiplied_past_the_buffer(void **state) {
  struct buf yaml;
  buf_init(&yaml, 1 << 20);
  buf_str(&yaml, STR("a: &a '"));
  for (int i = 0; i < 50000; i++) buf_char(&yaml, 'x');
  buf_str(&yaml, STR("'\nb:\n"));
  for (int i = 0; i < 50; i++) buf_str(&yaml, STR("- *a\n"));
  buf_char(&yaml, 0);
  fails(yaml.p, "line 22, column 3", "the values are too large");
  buf_done(&yaml);
}

static void depth_is_bounded_with_and_without_aliases(void **state) {
  char deep[2 * YAML_MAX_DEPTH + 3];
  memset(deep, '[', YAML_MAX_DEPTH);
  memset(deep + YAML_MAX_DEPTH, ']', YAML_MAX_DEPTH);
  deep[2 * YAML_MAX_DEPTH] = 0;
  gives(deep, deep);
  memset(deep, '[', YAML_MAX_DEPTH + 1);
  memset(deep + YAML_MAX_DEPTH + 1, ']', YAML_MAX_DEPTH + 1);
  deep[2 * YAML_MAX_DEPTH + 2] = 0;
  fails(deep, "line 1, column 65", "deeper");
  struct buf yaml;
  buf_init(&yaml, 65536);
  buf_str(&yaml, STR("a0: &a0 x\n"));
  for (int i = 1; i < 80; i++) buf_printf(&yaml, "a%d: &a%d [*a%d]\n", i, i, i - 1);
  buf_char(&yaml, 0);
  fails(yaml.p, "line 65, column 12", "deeper");
  buf_done(&yaml);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_and_lists_become_objects_and_arrays),
      cmocka_unit_test(an_empty_stream_is_null),
      cmocka_unit_test(plain_scalars_follow_the_core_schema),
      cmocka_unit_test(quoted_scalars_are_text),
      cmocka_unit_test(core_tags_are_obeyed_and_others_refused),
      cmocka_unit_test(numbers_that_json_cannot_write_are_refused),
      cmocka_unit_test(an_alias_is_a_copy_of_its_anchor),
      cmocka_unit_test(keys_are_single_texts),
      cmocka_unit_test(duplicate_keys_are_refused_where_they_stand),
      cmocka_unit_test(a_second_document_is_refused),
      cmocka_unit_test(mistakes_have_a_line_and_a_column),
      cmocka_unit_test(aliases_cannot_expand_without_end),
      cmocka_unit_test(directives_cannot_take_long),
      cmocka_unit_test(long_texts_cannot_be_multiplied_past_the_buffer),
      cmocka_unit_test(depth_is_bounded_with_and_without_aliases),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
