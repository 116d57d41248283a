// SPDX-License-Identifier: Apache-2.0
// context/session: events from lines of JSON.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "context/session_events.h"

struct world {
  struct arena arena;
  struct event_log log;
  struct fault fault;
};

static bool read_with(struct world *w, const char *text, const struct session_limits *limits) {
  *w = (struct world){0};
  arena_init(&w->arena);
  return session_read(&w->arena, str_of(text), limits, &w->log, &w->fault);
}

static void read_events(struct world *w, const char *text) {
  if (!read_with(w, text, &session_default_limits)) fail_msg("%s", w->fault.message);
}

static void done(struct world *w) {
  arena_done(&w->arena);
}

static void assert_str(str got, const char *want) {
  if (!str_eq(got, str_of(want))) fail_msg("\"%.*s\", not \"%s\"", STR_ARG(got), want);
}

static void expect_fault(const char *text, const char *message) {
  struct world w;
  assert_false(read_with(&w, text, &session_default_limits));
  assert_string_equal(w.fault.message, message);
  assert_int_equal(w.log.count, 0);
  done(&w);
}

static void a_line_is_an_event(void **state) {
  struct world w;
  read_events(
      &w, "{\"id\":\"u1\",\"type\":\"user_turn\",\"text\":\"Search for open invoices\"}\n"
          "{\"id\":\"tc1\",\"type\":\"tool_call\",\"text\":\"invoices.search(status='open')\",\"parent_id\":\"u1\"}\n"
          "{\"id\":\"tr1\",\"type\":\"tool_result\",\"content\":\"status: open\\ntotal = 3\",\"parent_id\":\"tc1\"}\n");
  assert_int_equal(w.log.count, 3);
  assert_str(w.log.list[0].id, "u1");
  assert_int_equal(w.log.list[0].kind, EVENT_USER_TURN);
  assert_null(w.log.list[0].parent.p);
  assert_int_equal(w.log.list[1].kind, EVENT_TOOL_CALL);
  assert_str(w.log.list[1].parent, "u1");
  assert_int_equal(w.log.list[2].kind, EVENT_TOOL_RESULT);
  assert_str(w.log.list[2].text, "status: open\ntotal = 3");
  assert_int_equal(w.log.list[2].line, 3);
  done(&w);
}

static void every_kind_is_known_by_its_name(void **state) {
  static const char *const names[] = {"user_turn",     "agent_msg",   "tool_call",  "tool_result", "doc_snippet",
                                      "retrieved_doc", "memory_fact", "plan_state", "policy"};
  for (size_t i = 0; i < EVENT_KINDS; i++) {
    struct world w;
    char line[64];
    snprintf(line, sizeof line, "{\"type\":\"%s\"}", names[i]);
    read_events(&w, line);
    assert_int_equal(w.log.list[0].kind, i);
    assert_string_equal(event_kind_name((enum event_kind)i), names[i]);
    done(&w);
  }
}

static void what_is_left_out_has_a_default(void **state) {
  struct world w;
  read_events(&w, "{}\n\n{\"type\":null,\"id\":null,\"metadata\":null,\"parent_id\":null}");
  assert_int_equal(w.log.count, 2);
  assert_str(w.log.list[0].id, "mcp-line-1");
  assert_str(w.log.list[0].text, "");
  assert_int_equal(w.log.list[0].level, LEVEL_PUBLIC);
  assert_int_equal(w.log.list[0].token_estimate, 0);
  assert_str(w.log.list[1].id, "mcp-line-3");
  assert_int_equal(w.log.list[1].kind, EVENT_USER_TURN);
  done(&w);
}

static void content_stands_for_a_text_that_is_empty(void **state) {
  static const char *const cases[][2] = {
      {"{\"text\":\"\",\"content\":\"c\"}", "c"},
      {"{\"text\":null,\"content\":\"c\"}", "c"},
      {"{\"text\":\"t\",\"content\":\"c\"}", "t"},
      {"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\\u00e9\"}]}", "a\n\u00e9"},
      {"{\"content\":[1, 2]}", "[1,2]"},
      {"{\"content\": {\"a\" : true}}", "{\"a\":true}"},
      {"{\"text\":42}", "42"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct world w;
    read_events(&w, cases[i][0]);
    assert_str(w.log.list[0].text, cases[i][1]);
    done(&w);
  }
}

static void sensitivity_artifact_and_metadata_are_read(void **state) {
  struct world w;
  read_events(&w, "{\"id\":7,\"type\":\"tool_result\",\"sensitivity\":\"restricted\",\"token_estimate\":12,"
                  "\"artifact_ref\":{\"handle\":\"text:a:b\",\"size_bytes\":9},"
                  "\"metadata\":{\"tags\":[\"x\",1,\"y\"],\"function_name\":\"f\",\"section\":\"NOTES\",\"else\":{}}}\n"
                  "{\"artifact_ref\":\"h\",\"sensitivity\":\"internal\"}");
  const struct event *e = &w.log.list[0];
  assert_str(e->id, "7");
  assert_int_equal(e->level, LEVEL_RESTRICTED);
  assert_int_equal(e->token_estimate, 12);
  assert_str(e->artifact, "text:a:b");
  assert_int_equal(e->tag_count, 2);
  assert_str(e->tags[1], "y");
  assert_str(e->function_name, "f");
  assert_str(e->section, "NOTES");
  assert_str(w.log.list[1].artifact, "h");
  assert_int_equal(w.log.list[1].level, LEVEL_INTERNAL);
  done(&w);
}

static void a_type_that_is_not_known_is_named_with_its_line(void **state) {
  expect_fault("{}\n{\"type\":\"telepathy\"}", "Invalid context item at line 2: unknown type \"telepathy\"");
  expect_fault("{\"type\":\"tool_reslt\"}",
               "Invalid context item at line 1: unknown type \"tool_reslt\"; did you mean tool_result?");
  expect_fault("{\"type\":7}", "Invalid context item at line 1: \"type\" must be a string");
}

static void a_wrong_line_is_named(void **state) {
  expect_fault("{}\n{\"id\":\n", "Invalid JSON at line 2: expected a value, but the text ends, column 7");
  expect_fault("{}\n\n[1]", "Expected JSON object at line 3, got list");
  expect_fault("\"x\"", "Expected JSON object at line 1, got str");
  expect_fault("1", "Expected JSON object at line 1, got int");
  expect_fault("1.5", "Expected JSON object at line 1, got float");
  expect_fault("true", "Expected JSON object at line 1, got bool");
  expect_fault("null", "Expected JSON object at line 1, got NoneType");
  expect_fault("{\"id\":{}}", "Invalid context item at line 1: \"id\" must be a string");
  expect_fault("{}\n{\"parent_id\":[]}", "Invalid context item at line 2: \"parent_id\" must be a string");
  expect_fault("{\"metadata\":[]}", "Invalid context item at line 1: \"metadata\" must be an object");
  expect_fault("{\"token_estimate\":1.5}",
               "Invalid context item at line 1: \"token_estimate\" must be a whole number, 0 or more");
  expect_fault("{\"sensitivity\":\"secret\"}",
               "Invalid context item at line 1: \"sensitivity\" must be public, internal, confidential or restricted");
  expect_fault("{\"artifact_ref\":{}}",
               "Invalid context item at line 1: \"artifact_ref\" must be a handle, or an object with a \"handle\"");
}

static void an_id_that_occurs_twice_is_named_with_both_lines(void **state) {
  expect_fault("{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}",
               "Invalid context item at line 3: line 1 already has the id \"a\"");
  expect_fault("{\"id\":\"mcp-line-2\"}\n{}",
               "Invalid context item at line 2: line 1 already has the id \"mcp-line-2\"");
}

static void line_ends_and_blank_lines_do_not_matter(void **state) {
  struct world w;
  read_events(&w, "\xef\xbb\xbf{\"id\":\"a\"}\r\n  \r\n\n\t{\"id\":\"b\"} ");
  assert_int_equal(w.log.count, 2);
  assert_str(w.log.list[1].id, "b");
  assert_int_equal(w.log.list[1].line, 4);
  done(&w);
  read_events(&w, "");
  assert_int_equal(w.log.count, 0);
  done(&w);
}

static void size_is_bounded(void **state) {
  static const struct session_limits few = {1000, 1000, 2}, small = {10, 10, 2}, short_lines = {1000, 10, 2};
  struct world w;
  assert_false(read_with(&w, "{}\n{}\n{}", &few));
  assert_int_equal(w.fault.code, FAULT_LIMIT);
  assert_string_equal(w.fault.message, "the session has more than 2 events");
  done(&w);
  assert_false(read_with(&w, "{}\n{}          ", &small));
  assert_string_equal(w.fault.message, "the session is larger than 10 bytes");
  done(&w);
  assert_false(read_with(&w, "{\"text\":\"123\"}", &short_lines));
  assert_int_equal(w.fault.code, FAULT_LIMIT);
  done(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_an_event),
      cmocka_unit_test(every_kind_is_known_by_its_name),
      cmocka_unit_test(what_is_left_out_has_a_default),
      cmocka_unit_test(content_stands_for_a_text_that_is_empty),
      cmocka_unit_test(sensitivity_artifact_and_metadata_are_read),
      cmocka_unit_test(a_type_that_is_not_known_is_named_with_its_line),
      cmocka_unit_test(a_wrong_line_is_named),
      cmocka_unit_test(an_id_that_occurs_twice_is_named_with_both_lines),
      cmocka_unit_test(line_ends_and_blank_lines_do_not_matter),
      cmocka_unit_test(size_is_bounded),
  };
  return cmocka_run_group_tests_name("session_jsonl", tests, NULL, NULL);
}
