// SPDX-License-Identifier: Apache-2.0
// context/messages: calls beside a conversation become messages of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "context/messages.h"
#include "json/write.h"

struct world {
  struct arena arena;
  struct messages_plan plan;
  struct fault fault;
  struct buf sent;  // "id params" of every call that was made, one a line
};

static bool plan(struct world *w, const char *text) {
  *w = (struct world){0};
  arena_init(&w->arena);
  buf_init(&w->sent, 1 << 20);
  const struct json *input = json_parse(&w->arena, str_of(text), &json_default_limits, &w->fault);
  assert_non_null(input);
  return messages_plan(input, &w->arena, &w->plan, &w->fault);
}

static void done(struct world *w) {
  buf_done(&w->sent);
  arena_done(&w->arena);
}

// Every call answers "answer of ID", a call of "fail" fails.
static void answer(void *ctx, struct planned_call *call, str params, struct arena *a) {
  struct world *w = ctx;
  struct fault f;
  buf_str(&w->sent, call->id);
  buf_char(&w->sent, ' ');
  buf_str(&w->sent, params);
  buf_char(&w->sent, '\n');
  str text = arena_printf(a, "{\"content\":[{\"type\":\"text\",\"text\":\"answer of %.*s\"}],\"isError\":%s}",
                          STR_ARG(call->id), str_eq(call->target, STR("fail")) ? "true" : "false");
  if (str_eq(call->target, STR("file:///gone"))) {
    fault_set(&f, FAULT_UPSTREAM_ERROR, "no such file");
    messages_take_fault(call, &f, a);
  } else {
    messages_take_result(call, json_parse(a, text, &json_default_limits, &f), a);
  }
}

static void expect_text(str got, const char *want) {
  if (!str_eq(got, str_of(want))) fail_msg("%.*s\nnot\n%s", STR_ARG(got), want);
}

static void expect_sent(const char *text, const char *want) {
  struct world w;
  if (!plan(&w, text)) fail_msg("%s", w.fault.message);
  messages_run(&w.plan, answer, &w, &w.arena);
  expect_text(buf_view(&w.sent), want);
  done(&w);
}

static void expect_output(struct world *w, enum messages_shape shape, const char *want) {
  struct buf out;
  buf_init(&out, 1 << 20);
  messages_write(&w->plan, shape, &w->arena, &out);
  assert_false(out.over);
  expect_text(buf_view(&out), want);
  buf_done(&out);
}

static void expect_refused(const char *calls, const char *path, const char *says) {
  struct world w;
  struct arena a;
  arena_init(&a);
  bool ok = plan(&w, arena_cstr(&a, arena_printf(&a, "{\"messages\":[],\"tool_calls\":%s}", calls)));
  assert_false(ok);
  assert_string_equal(w.fault.message, says);
  assert_string_equal(w.fault.path, path);
  done(&w);
  arena_done(&a);
}

#define READ(id, uri) \
  "{\"resource_call\":{\"method\":\"resources/read\",\"params\":{\"uri\":\"" uri "\"},\"id\":\"" id "\"}}"
#define TOOL(id, name, args) \
  "{\"tool_call\":{\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\",\"arguments\":" args "},\"id\":\"" id \
  "\"}}"
#define INPUT(...) \
  "{\"messages\":[{\"role\":\"system\", \"content\":\"compiled context document\"}],\"tool_calls\":[" __VA_ARGS__ "]}"

#define SEED_READ READ("ResourceCallID", "file:///path/to/resource")
#define SEED_TOOL \
  "{\"tool_call\":{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"tool_name\":\"text_summarizer\"," \
  "\"arguments\":{\"depends\":\"ResourceCallID\",\"text\":\"<ResourceCallID response>\"}},\"id\":\"ToolCallID\"}}"
#define SEED_OUTPUT \
  "{\"messages\":[{\"role\":\"system\", \"content\":\"compiled context document\"}," \
  "{\"role\":\"assistant\",\"content\":\"resource request: file:///path/to/resource\"}," \
  "{\"role\":\"system\",\"content\":\"<ResourceCallID response>\"}," \
  "{\"role\":\"assistant\",\"content\":\"tool request using <ResourceCallID> response: text_summarizer " \
  "{\\\"text\\\":\\\"<ResourceCallID response>\\\"}\"}," \
  "{\"role\":\"tool\",\"content\":\"<ToolCallID response>\"}]}"

static void a_resource_and_a_tool_become_five_messages(void **state) {
  struct world w;
  assert_true(plan(&w, INPUT(SEED_READ "," SEED_TOOL)));
  messages_pretend(&w.plan, &w.arena);
  expect_output(&w, MESSAGES_SEED, SEED_OUTPUT);
  done(&w);
}

static void the_order_in_which_calls_are_written_does_not_matter_where_they_depend(void **state) {
  struct world w;
  assert_true(plan(&w, INPUT(SEED_TOOL "," SEED_READ)));
  messages_pretend(&w.plan, &w.arena);
  expect_output(&w, MESSAGES_SEED, SEED_OUTPUT);
  done(&w);
}

static void in_the_shape_of_openai_every_response_answers_an_id(void **state) {
  struct world w;
  assert_true(plan(&w, "{\"model\":\"m\",\"messages\":[],\"tool_calls\":[" TOOL(
                           "2", "a:b@1", "{\"depends\":\"1\",\"n\":1.0}") "," READ("1", "file:///x") "]}"));
  messages_run(&w.plan, answer, &w, &w.arena);
  expect_output(&w, MESSAGES_OPENAI,
                "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\","
                "\"type\":\"function\",\"function\":{\"name\":\"resources_read\","
                "\"arguments\":\"{\\\"uri\\\":\\\"file:///x\\\"}\"}}]},"
                "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"answer of 1\"},"
                "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"2\",\"type\":\"function\","
                "\"function\":{\"name\":\"a_b_1_b86eab04\",\"arguments\":\"{\\\"n\\\":1.0}\"}}]},"
                "{\"role\":\"tool\",\"tool_call_id\":\"2\",\"content\":\"answer of 2\"}]}");
  done(&w);
}

static void circles_are_refused(void **state) {
  expect_refused("[" TOOL("A", "t", "{\"depends\":\"B\"}") "," TOOL("B", "t", "{\"depends\":[\"A\"]}") "]",
                 "/tool_calls/0", "is part of a dependency cycle, or depends on one");
  expect_refused("[" TOOL("X", "t", "{}") "," TOOL("A", "t", "{\"depends\":\"A\"}") "]", "/tool_calls/1",
                 "depends on itself");
}

static void a_dependency_must_be_there(void **state) {
  expect_refused("[" TOOL("A", "t", "{\"depends\":\"nobody\"}") "]", "/tool_calls/0", "depends on an unknown id");
  expect_refused("[" TOOL("A", "t", "{\"depends\":{}}") "]", "/tool_calls/0",
                 "depends must be an id, or a list of ids");
}

static void what_is_no_call_is_refused(void **state) {
  expect_refused("[" TOOL("A", "t", "{}") "," READ("A", "x:y") "]", "/tool_calls/1", "another call has the same id");
  expect_refused("[{}]", "/tool_calls/0", "must have either resource_call or tool_call");
  expect_refused("[7]", "/tool_calls/0", "must have either resource_call or tool_call");
  expect_refused("[{\"tool_call\":{\"method\":\"tools/list\"}}]", "/tool_calls/0", "the method must be tools/call");
  expect_refused("[{\"tool_call\":{\"method\":\"tools/call\"}}]", "/tool_calls/0",
                 "id must be a number or a non-empty string");
  expect_refused("[{\"tool_call\":{\"method\":\"tools/call\",\"id\":1}}]", "/tool_calls/0", "params must be an object");
  expect_refused("[{\"tool_call\":{\"method\":\"tools/call\",\"id\":1,\"params\":{}}}]", "/tool_calls/0",
                 "params.name (or tool_name) must be a string");
  expect_refused("[" TOOL("A", "t", "[]") "]", "/tool_calls/0", "params.arguments must be an object");
  expect_refused("{}", "", "tool_calls must be a list");
}

static void without_dependencies_calls_are_made_as_they_are_written(void **state) {
  expect_sent(INPUT(TOOL("c", "x", "{}") "," READ("a", "u:1") "," TOOL("b", "y", "{\"k\":[true, null]}")),
              "c {\"name\":\"x\",\"arguments\":{}}\n"
              "a {\"uri\":\"u:1\"}\n"
              "b {\"name\":\"y\",\"arguments\":{\"k\":[true,null]}}\n");
}

static void a_call_comes_behind_all_that_it_depends_on(void **state) {
  expect_sent(INPUT(TOOL("c", "x", "{\"depends\":[\"a\",\"b\"],\"t\":\"<b response>+<a response>\"}") "," TOOL(
                  "b", "y", "{}") "," READ("a", "u:1")),
              "b {\"name\":\"y\",\"arguments\":{}}\n"
              "a {\"uri\":\"u:1\"}\n"
              "c {\"name\":\"x\",\"arguments\":{\"t\":\"answer of b+answer of a\"}}\n");
}

static void placeholders_are_filled_at_any_depth_and_only_for_what_is_depended_on(void **state) {
  expect_sent(
      INPUT(READ("a", "u:1") "," TOOL("b", "y", "{}") "," TOOL(
          "c", "x", "{\"depends\":\"a\",\"k\":[{\"<a response>\":\"\\u003ca response> <b response> <a\"}],\"n\":1e2}")),
      "a {\"uri\":\"u:1\"}\n"
      "b {\"name\":\"y\",\"arguments\":{}}\n"
      "c {\"name\":\"x\",\"arguments\":{\"k\":[{\"<a response>\":\"answer of a <b response> <a\"}],\"n\":1e2}}\n");
}

static void ids_may_be_numbers(void **state) {
  expect_sent("{\"messages\":[],\"tool_calls\":["
              "{\"tool_call\":{\"method\":\"tools/call\",\"id\":2,\"params\":{\"name\":\"t\",\"_meta\":{\"m\":1},"
              "\"arguments\":{\"depends\":[1],\"x\":\"<1 response>\"}}}},"
              "{\"resource_call\":{\"method\":\"resources/read\",\"id\":1,\"params\":{\"uri\":\"u:1\"}}}]}",
              "1 {\"uri\":\"u:1\"}\n2 {\"name\":\"t\",\"arguments\":{\"x\":\"answer of 1\"},\"_meta\":{\"m\":1}}\n");
}

static void what_depends_on_a_failure_is_not_made(void **state) {
  struct world w;
  assert_true(plan(
      &w, INPUT(READ("a", "file:///gone") "," TOOL("b", "t", "{\"depends\":\"a\"}") "," TOOL(
              "c", "t", "{\"depends\":\"b\"}") "," TOOL("d", "fail", "{}") "," TOOL("e", "t", "{\"depends\":\"d\"}"))));
  assert_int_equal(messages_run(&w.plan, answer, &w, &w.arena), 5);
  expect_text(buf_view(&w.sent), "a {\"uri\":\"file:///gone\"}\nd {\"name\":\"fail\",\"arguments\":{}}\n");
  expect_text(w.plan.calls[0].response, "{\"error\":{\"code\":\"UPSTREAM_ERROR\",\"message\":\"no such file\"}}");
  expect_text(w.plan.calls[1].response, "{\"error\":{\"code\":\"DEPENDENCY_FAILED\",\"depends\":\"a\"}}");
  expect_text(w.plan.calls[2].response, "{\"error\":{\"code\":\"DEPENDENCY_FAILED\",\"depends\":\"b\"}}");
  expect_text(w.plan.calls[3].response, "answer of d");
  done(&w);
}

static void a_result_is_read_as_text(void **state) {
  static const char *const cases[][2] = {
      {"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}", "a\nb"},
      {"{\"content\":[{\"type\":\"json\",\"json\":{\"k\": [1, 2]}}]}", "{\"k\":[1,2]}"},
      {"{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAEC\"}]}",
       "[data:image/png;base64, 3 bytes]"},
      {"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"u:1\",\"blob\":\"AAE=\"}}]}",
       "[data:application/octet-stream;base64, 2 bytes]"},
      {"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"u:1\",\"text\":\"t\"}}]}", "t"},
      {"{\"content\":[{\"type\":\"resource_link\",\"uri\":\"u:2\"}]}", "u:2"},
      {"{\"contents\":[{\"uri\":\"u:1\",\"text\":\"one\"},{\"uri\":\"u:2\",\"text\":\"two\"}]}", "one\ntwo"},
      {"{\"uri\":\"u:1\",\"mimeType\":\"text/plain\",\"text\":\"flat\"}", "flat"},
      {"{\"content\":[],\"structuredContent\":{\"a\" : 1}}", "{\"a\":1}"},
      {"{\"content\":\"inferred\",\"model\":\"m\"}", "inferred"},
      {"{\"content\":[]}", ""},
      {"{\"x\" : 1}", "{\"x\":1}"},
      {"\"words\"", "words"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct arena a;
    struct fault f;
    arena_init(&a);
    const struct json *v = json_parse(&a, str_of(cases[i][0]), &json_default_limits, &f);
    expect_text(messages_result_text(v, &a), cases[i][1]);
    arena_done(&a);
  }
}

static void what_is_there_already_stays_byte_for_byte(void **state) {
  struct world w;
  const char *text = "{ \"messages\" : [ {\"role\":\"user\",\"content\":\"\\u00e9\"} ],\n \"temperature\": 1.00 }";
  assert_true(plan(&w, text));
  expect_output(&w, MESSAGES_SEED,
                "{ \"messages\" : [{\"role\":\"user\",\"content\":\"\\u00e9\"}],\n \"temperature\": 1.00 }");
  done(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_resource_and_a_tool_become_five_messages),
      cmocka_unit_test(the_order_in_which_calls_are_written_does_not_matter_where_they_depend),
      cmocka_unit_test(in_the_shape_of_openai_every_response_answers_an_id),
      cmocka_unit_test(circles_are_refused),
      cmocka_unit_test(a_dependency_must_be_there),
      cmocka_unit_test(what_is_no_call_is_refused),
      cmocka_unit_test(without_dependencies_calls_are_made_as_they_are_written),
      cmocka_unit_test(a_call_comes_behind_all_that_it_depends_on),
      cmocka_unit_test(placeholders_are_filled_at_any_depth_and_only_for_what_is_depended_on),
      cmocka_unit_test(ids_may_be_numbers),
      cmocka_unit_test(what_depends_on_a_failure_is_not_made),
      cmocka_unit_test(a_result_is_read_as_text),
      cmocka_unit_test(what_is_there_already_stays_byte_for_byte),
  };
  return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
