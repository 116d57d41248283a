// SPDX-License-Identifier: Apache-2.0
// TOML becomes JSON text, mistakes have a line, and lines can be taken out of a file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/edit/toml.h"
#include "json/json.h"

static struct arena arena;

static int set_up(void **state) {
  arena_init(&arena);
  return 0;
}

static int tear_down(void **state) {
  arena_done(&arena);
  return 0;
}

static void gives(const char *text, const char *json) {
  struct toml t;
  struct fault f = {0};
  if (!toml_read(&arena, str_of(text), &t, &f)) fail_msg("%s: %s: %s", text, f.path, f.message);
  if (!str_eq(t.json, str_of(json))) fail_msg("%s gives %.*s, not %s", text, STR_ARG(t.json), json);
  assert_non_null(json_parse(&arena, t.json, &json_default_limits, &f));
}

static void fails(const char *text, const char *path) {
  struct toml t;
  struct fault f = {0};
  if (toml_read(&arena, str_of(text), &t, &f)) fail_msg("%s gives %.*s", text, STR_ARG(t.json));
  if (strcmp(f.path, path) != 0) fail_msg("%s: %s, not %s: %s", text, f.path, path, f.message);
}

static void tables_and_keys_become_objects(void **state) {
  gives("", "{}");
  gives("# only a comment\n\n", "{}");
  gives("a = 1\nb.c = 2\nb.d = 3\n\"e f\" = 4\n'g.h' = 5\n", "{\"a\":1,\"b\":{\"c\":2,\"d\":3},\"e f\":4,\"g.h\":5}");
  gives("[a]\nx = 1\n[a.b]\ny = 2\n[ a . 'c.d' ] # c\nz = 3", "{\"a\":{\"x\":1,\"b\":{\"y\":2},\"c.d\":{\"z\":3}}}");
  gives("[a.b]\nx = 1\n[a]\ny = 2\n", "{\"a\":{\"b\":{\"x\":1},\"y\":2}}");
  gives("[[p]]\nn = 1\n[[p]]\nn = 2\n[p.q]\nm = 3\n", "{\"p\":[{\"n\":1},{\"n\":2,\"q\":{\"m\":3}}]}");
  gives("a = { b = 1, c.d = 'x' }\r\n", "{\"a\":{\"b\":1,\"c\":{\"d\":\"x\"}}}");
  gives("\xef\xbb\xbf"
        "a = {}\n",
        "{\"a\":{}}");
}

static void texts_are_of_four_kinds(void **state) {
  gives("a = \"t\\u00e4\\t\\\"\\U0001F600\"", "{\"a\":\"tä\\t\\\"😀\"}");
  gives("a = 'C:\\x'", "{\"a\":\"C:\\\\x\"}");
  gives("a = \"\"\"\none \\\n   two\nthree\"\"\"\"", "{\"a\":\"one two\\nthree\\\"\"}");
  gives("a = '''\n\\n'' '''''", "{\"a\":\"\\\\n'' ''\"}");
  gives("a = \"\"\nb = ''''''", "{\"a\":\"\",\"b\":\"\"}");
}

static void numbers_words_and_dates(void **state) {
  gives("a = [0, +17, -5, 1_000, 0xdead_BEEF, 0o17, 0b101]", "{\"a\":[0,17,-5,1000,3735928559,15,5]}");
  gives("a = [1.5, -0.01, 5e+22, 1E-3, 6.6e-3]", "{\"a\":[1.5,-0.01,5e+22,1e-3,6.6e-3]}");
  gives("a = [true, false, inf, -nan]", "{\"a\":[true,false,\"inf\",\"-nan\"]}");
  gives("a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.5\nc = 07:32:00\nd = 1979-05-27 # x",
        "{\"a\":\"1979-05-27T07:32:00Z\",\"b\":\"1979-05-27 07:32:00.5\",\"c\":\"07:32:00\",\"d\":\"1979-05-27\"}");
}

static void lists_go_over_lines(void **state) {
  gives("a = [ # one\n  1, # two\n\n  [ 'x' , ],\n]", "{\"a\":[1,[\"x\"]]}");
}

static void mistakes_have_a_line(void **state) {
  fails("a = 1\na = 2", "line 2, column 3");
  fails("a = 1\n[a]", "line 2, column 4");
  fails("[a]\n[a]", "line 2, column 4");
  fails("a.b = 1\n[a]", "line 2, column 4");
  fails("[a.b]\n[a]\nb.c = 1", "line 3, column 5");
  fails("a = {b = 1}\na.c = 2", "line 2, column 5");
  fails("a = {b = 1,}", "line 1, column 12");
  fails("a = 1 b = 2", "line 1, column 7");
  fails("a = \"x\ny\"", "line 1, column 7");
  fails("a = \"\\q\"", "line 1, column 7");
  fails("a = \"\\ud800\"", "line 1, column 12");
  fails("a = 007", "line 1, column 5");
  fails("a = 1__0", "line 1, column 5");
  fails("a = yes", "line 1, column 5");
  fails("a =", "line 1, column 4");
  fails("= 1", "line 1, column 1");
  fails("[a\n", "line 1, column 3");
  fails("a = [1 2]", "line 1, column 8");
  fails("a = '''x", "line 1, column 9");
  fails("a = 0xffffffffffffffff", "line 1, column 5");
  fails("a = \"\xff\"", "line 1, column 1");
}

static void what_is_too_deep_or_too_much_is_refused(void **state) {
  char *deep = arena_alloc(&arena, 4 + 2 * 40 + 1);
  memcpy(deep, "a = ", 4);
  memset(deep + 4, '[', 40);
  memset(deep + 44, ']', 41);
  deep[84] = 0;
  fails(deep, "line 1, column 37");
}

static bool of_servers(void *ctx, const struct toml_part *part) {
  return str_eq(part->keys[0], STR("mcp_servers")) && (part->depth == 1 || str_eq(part->keys[1], str_of(ctx)));
}

static void without(const char *text, const char *name, const char *want) {
  struct toml t;
  struct fault f = {0};
  if (!toml_read(&arena, str_of(text), &t, &f)) fail_msg("%s: %s", f.path, f.message);
  str got = toml_without(&arena, str_of(text), &t, of_servers, (void *)name);
  if (!str_eq(got, str_of(want))) fail_msg("got:\n%.*s\nwant:\n%s", STR_ARG(got), want);
}

static void lines_are_taken_out_and_the_rest_stays(void **state) {
  without("model = \"x\" # mine\n\n[mcp_servers.a]\ncommand = \"a\"\n# of a\n"
          "args = [\n  '1',\n]\n\n[mcp_servers.a.env]\nK = 'v'\n\n"
          "# other\n[tui]\nx = 1\n",
          "a", "model = \"x\" # mine\n\n# other\n[tui]\nx = 1\n");
  without("[mcp_servers]\na = { command = 'a' }\nb = { command = 'b' }\n", "a", "b = { command = 'b' }\n");
  without("mcp_servers.a.command = 'x'\nmcp_servers.b.command = 'y'", "b", "mcp_servers.a.command = 'x'\n");
  without("[x]\n", "a", "[x]\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(tables_and_keys_become_objects, set_up, tear_down),
      cmocka_unit_test_setup_teardown(texts_are_of_four_kinds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(numbers_words_and_dates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(lists_go_over_lines, set_up, tear_down),
      cmocka_unit_test_setup_teardown(mistakes_have_a_line, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_too_deep_or_too_much_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(lines_are_taken_out_and_the_rest_stays, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
