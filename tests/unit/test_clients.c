// SPDX-License-Identifier: Apache-2.0
// mcp/clients: which client is recognised by its name, what its model reads, and who gets structuredContent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/server/clients.h"
#include "mcp/server/session.h"

#define RESULT \
  "{\"content\":[{\"type\":\"text\",\"text\":\"Two lines\"},{\"type\":\"text\",\"text\":\"of text\"}]," \
  "\"structuredContent\":{ \"n\": 1 }}"

static int open_arena(void **state) {
  static struct arena a;
  arena_init(&a);
  *state = &a;
  return 0;
}

static int close_arena(void **state) {
  arena_done(*state);
  return 0;
}

static struct json *parse(struct arena *a, const char *text) {
  struct fault f;
  return json_parse(a, str_of(text), &json_default_limits, &f);
}

static void assert_found(const char *name, const char *row) {
  const struct client_row *found = client_find(str_of(name));
  if (row) assert_string_equal(found ? found->name : "nothing", row);
  else assert_null(found);
}

static void a_client_is_known_by_the_first_words_of_its_name_in_any_case(void **state) {
  assert_found("claude-code", "claude-code");
  assert_found("Claude-Code", "claude-code");
  assert_found("claude-code/2.1.197 (cli)", "claude-code");
  assert_found("Visual Studio Code", "visual studio code");
  assert_found("Visual Studio Code - Insiders", "visual studio code");
  assert_found("cursor-vscode", "cursor");
  assert_found("claude-codex", NULL);
  assert_found("claude", NULL);
  assert_found("opencoder", NULL);
  assert_found("", NULL);
}

static void every_row_is_found_by_its_own_name_and_has_a_title(void **state) {
  for (size_t i = 0; i < clients_known_count; i++) {
    assert_ptr_equal(client_find(str_of(clients_known[i].name)), &clients_known[i]);
    assert_true(clients_known[i].title[0]);
  }
}

static void assert_shown(struct arena *a, const char *client, const char *result, const char *want) {
  str shown = client_shown(client_find(str_of(client)), parse(a, result), a);
  assert_string_equal(arena_printf(a, "%.*s", STR_ARG(shown)).p, want);
}

static void a_model_reads_text_or_structured_content_as_its_client_decides(void **state) {
  struct arena *a = *state;
  assert_shown(a, "claude-code", RESULT, "{\"n\":1}");
  assert_shown(a, "claude-code", "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}", "x");
  assert_shown(a, "claude-code", "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"structuredContent\":null}", "x");
  assert_shown(a, "gemini-cli-mcp-client", RESULT, "Two lines\nof text");
  assert_shown(a, "github-copilot-developer", RESULT, "Two lines\nof text\n{\"n\":1}");
  assert_shown(a, "nobody knows it", RESULT, "Two lines\nof text");
}

// ---- the form of an answer

static struct client_form form_of(struct arena *a, const char *client, bool asks, const char *params,
                                  enum client_structured when) {
  struct session s = {.magic = SESSION_MAGIC, .known = client_find(str_of(client)), .asks_structured = asks};
  struct request r = {.session = &s, .msg = {.params = parse(a, params)}};
  return request_form(&r, when);
}

static void structured_content_is_for_those_that_want_it_or_ask(void **state) {
  struct arena *a = *state;
  const char *yes = "{\"_meta\":{\"io.toolgate/structured\":true}}";
  const char *no = "{\"_meta\":{\"io.toolgate/structured\":false}}";
  enum client_structured aut = CLIENT_STRUCTURED_AUTO;
  assert_false(form_of(a, "claude-code", false, "{}", aut).structured);
  assert_false(form_of(a, "nobody", false, "{}", aut).structured);
  assert_true(form_of(a, "mcp-inspector", false, "{}", aut).structured);
  assert_true(form_of(a, "nobody", true, "{}", aut).structured);
  assert_true(form_of(a, "nobody", false, yes, aut).structured);
  assert_false(form_of(a, "nobody", true, no, aut).structured);
  assert_true(form_of(a, "claude-code", false, "{}", CLIENT_STRUCTURED_ALWAYS).structured);
  assert_false(form_of(a, "mcp-inspector", true, yes, CLIENT_STRUCTURED_NEVER).structured);
}

static void results_are_arranged_for_known_clients_that_do_not_ask(void **state) {
  struct arena *a = *state;
  enum client_structured aut = CLIENT_STRUCTURED_AUTO;
  assert_int_equal(form_of(a, "claude-code", false, "{}", aut).reads, CLIENT_READS_STRUCTURED);
  assert_int_equal(form_of(a, "claude-code", true, "{}", aut).reads, CLIENT_READS_UNKNOWN);
  assert_int_equal(form_of(a, "opencode", false, "{}", CLIENT_STRUCTURED_NEVER).reads, CLIENT_READS_TEXT);
  assert_int_equal(form_of(a, "nobody", false, "{}", aut).reads, CLIENT_READS_UNKNOWN);
}

static void a_stateless_request_says_itself_who_sends_it(void **state) {
  struct arena *a = *state;
  struct session s = {.magic = SESSION_MAGIC, .callers = (struct callers *)a};  // lent, and perhaps shared
  struct request r = {.session = &s, .msg = {.params = parse(a, "{}")}};
  arena_init(&r.arena);
  r.meta.client = parse(a, "{\"name\":\"claude-code\",\"version\":\"3\"}");
  r.meta.capabilities = parse(a, "{}");
  assert_int_equal(request_form(&r, CLIENT_STRUCTURED_AUTO).reads, CLIENT_READS_STRUCTURED);
  r.meta.capabilities = parse(a, "{\"experimental\":{\"io.toolgate/structured\":{}}}");
  assert_true(request_form(&r, CLIENT_STRUCTURED_AUTO).structured);
  r.meta.client = NULL;
  assert_null(request_client(&r));
  arena_done(&r.arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_client_is_known_by_the_first_words_of_its_name_in_any_case),
      TEST(every_row_is_found_by_its_own_name_and_has_a_title),
      TEST(a_model_reads_text_or_structured_content_as_its_client_decides),
      TEST(structured_content_is_for_those_that_want_it_or_ask),
      TEST(results_are_arranged_for_known_clients_that_do_not_ask),
      TEST(a_stateless_request_says_itself_who_sends_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
