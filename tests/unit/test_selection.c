// SPDX-License-Identifier: Apache-2.0
// catalog/selection: which of the offered ids a model picked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "catalog/directory/selection.h"

static const str ids[] = {STR("github:create_issue@1#a1b2c3d4"), STR("github:list_issues@1#deadbeef"),
                          STR("github:create_issue@1#a1b2c3d4")};

#define SCHEMA \
  "{\"type\":\"object\",\"properties\":{\"selection\":{\"type\":\"string\",\"enum\":" \
  "[\"github:create_issue@1#a1b2c3d4\",\"github:list_issues@1#deadbeef\"]}}," \
  "\"required\":[\"selection\"],\"additionalProperties\":false}"

static void assert_schema(const char *form, const char *want) {
  enum selection_form found;
  struct buf b;
  struct fault f;
  buf_init(&b, 4096);
  assert_true(selection_form_find(str_of(form), &found, &f));
  assert_true(selection_schema(found, ids, 3, &b, &f));
  if (!str_eq(buf_view(&b), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&b)), want);
  buf_done(&b);
}

static void a_schema_lets_a_model_say_nothing_but_the_ids(void **state) {
  assert_schema("json_schema", SCHEMA);
  assert_schema("openai", "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"tool_selection\",\"strict\":true,"
                          "\"schema\":" SCHEMA "}}");
  assert_schema("anthropic",
                "{\"name\":\"tool_selection\",\"description\":\"Select exactly one tool_id from the routed "
                "candidates.\",\"input_schema\":" SCHEMA "}");
}

static void without_candidates_there_is_no_schema(void **state) {
  struct buf b;
  struct fault f;
  buf_init(&b, 4096);
  assert_false(selection_schema(SELECTION_OPENAI, ids, 0, &b, &f));
  assert_non_null(strstr(f.message, "at least one candidate"));
  assert_int_equal(b.n, 0);
  buf_done(&b);
}

static void an_unknown_form_is_refused_with_those_that_exist(void **state) {
  enum selection_form form = SELECTION_OPENAI;
  struct fault f;
  assert_false(selection_form_find(STR("gemini"), &form, &f));
  assert_int_equal(form, SELECTION_OPENAI);
  assert_non_null(strstr(f.message, "json_schema, openai or anthropic"));
}

static void assert_check(str raw, const char *want) {
  struct selection s = selection_check(raw, ids, 3);
  struct buf b;
  buf_init(&b, 4096);
  struct json_writer w = json_writer(&b);
  selection_write(&w, &s);
  if (!str_eq(buf_view(&b), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&b)), want);
  buf_done(&b);
}

#define CREATE "\"github:create_issue@1#a1b2c3d4\""

static void a_candidate_is_accepted_as_it_is(void **state) {
  assert_check(ids[0], "{\"status\":\"accepted\",\"selected_id\":" CREATE ",\"raw_id\":" CREATE
                       ",\"repair\":null,\"reason\":null}");
}

static void what_can_mean_only_one_candidate_is_repaired(void **state) {
  assert_check(STR(" github:create_issue@1#a1b2c3d4\n"),
               "{\"status\":\"repaired\",\"selected_id\":" CREATE
               ",\"raw_id\":\" github:create_issue@1#a1b2c3d4\\n\",\"repair\":\"strip\",\"reason\":null}");
  assert_check(STR("GITHUB:CREATE_ISSUE@1#A1B2C3D4"),
               "{\"status\":\"repaired\",\"selected_id\":" CREATE
               ",\"raw_id\":\"GITHUB:CREATE_ISSUE@1#A1B2C3D4\",\"repair\":\"case_fold\",\"reason\":null}");
  assert_check(STR("github:create_issue"),
               "{\"status\":\"repaired\",\"selected_id\":" CREATE
               ",\"raw_id\":\"github:create_issue\",\"repair\":\"prefix\",\"reason\":null}");
  assert_check(STR("GITHUB:LIST"), "{\"status\":\"repaired\",\"selected_id\":\"github:list_issues@1#deadbeef\","
                                   "\"raw_id\":\"GITHUB:LIST\",\"repair\":\"prefix\",\"reason\":null}");
}

static void assert_rejected(str raw, const char *reason) {
  struct selection s = selection_check(raw, ids, 3);
  assert_int_equal(s.status, SELECTION_REJECTED);
  assert_string_equal(s.reason, reason);
  assert_null(s.selected.p);
  assert_null(s.repair);
}

static void what_could_mean_two_or_none_is_rejected(void **state) {
  assert_rejected(STR("github:"), "ambiguous_prefix");
  assert_rejected(STR("x"), "not_a_candidate");
  assert_rejected(STR("github:create_issue@1#a1b2c3d4x"), "not_a_candidate");
  assert_rejected(STR_NONE, "empty_selection");
  assert_rejected(STR(""), "empty_selection");
  assert_rejected(STR("  \n"), "empty_selection");
  static const str twins[] = {STR("a:B@1"), STR("a:b@1"), STR("a:bc@1")};
  struct selection s = selection_check(STR("A:b@1"), twins, 3);
  assert_int_equal(s.status, SELECTION_REJECTED);
  assert_string_equal(s.reason, "ambiguous_case_fold");
  s = selection_check(STR("a:b@1"), twins, 3);
  assert_int_equal(s.status, SELECTION_ACCEPTED);
  s = selection_check(STR("a:b@1"), twins, 0);
  assert_string_equal(s.reason, "not_a_candidate");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_schema_lets_a_model_say_nothing_but_the_ids),
      cmocka_unit_test(without_candidates_there_is_no_schema),
      cmocka_unit_test(an_unknown_form_is_refused_with_those_that_exist),
      cmocka_unit_test(a_candidate_is_accepted_as_it_is),
      cmocka_unit_test(what_can_mean_only_one_candidate_is_repaired),
      cmocka_unit_test(what_could_mean_two_or_none_is_rejected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
