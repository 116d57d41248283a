// SPDX-License-Identifier: Apache-2.0
// mcp/meta: params._meta on its way from one era to the other.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcp/meta.h"

#define VERSION "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""
#define CLIENT "\"io.modelcontextprotocol/clientInfo\":"
#define CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\":"
#define LEVEL "\"io.modelcontextprotocol/logLevel\":"

static const struct json *parsed(struct arena *a, const char *text) {
  struct fault f;
  const struct json *v = json_parse(a, str_of(text), &json_default_limits, &f);
  if (!v) fail_msg("%s: %s", text, f.message);
  return v;
}

// old NULL: there was none.
static void expect_written(const char *old, const struct meta_caller *caller, const char *token, const char *want) {
  struct arena a;
  struct buf b;
  arena_init(&a);
  buf_init(&b, 4096);
  meta_write(&b, old ? parsed(&a, old) : NULL, caller, token ? str_of(token) : STR_NONE);
  assert_false(b.over);
  if (!str_eq(buf_view(&b), str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(buf_view(&b)), want);
  buf_done(&b);
  arena_done(&a);
}

static const struct meta_caller nobody = {.capabilities = {"{}", 2}};
static const struct meta_caller somebody = {
    .capabilities = {"{\"roots\":{}}", 12}, .client = {"{\"name\":\"me\"}", 13}, .log_level = {"info", 4}};

#define SOMEBODY CLIENT "{\"name\":\"me\"}," CAPABILITIES "{\"roots\":{}}," LEVEL "\"info\""

static void a_stateless_server_is_told_who_asks(void **state) {
  expect_written(NULL, &nobody, NULL, "{" VERSION "," CAPABILITIES "{}}");
  expect_written("{}", &nobody, NULL, "{" VERSION "," CAPABILITIES "{}}");
  expect_written(NULL, &somebody, NULL, "{" VERSION "," SOMEBODY "}");
  expect_written(NULL, &somebody, "7", "{" VERSION "," SOMEBODY ",\"progressToken\":7}");
}

static void what_was_there_stays_where_it_was(void **state) {
  expect_written("{ \"a\" : 1.0,\"traceparent\":\"00-\\u0061\" }", &nobody, NULL,
                 "{ \"a\" : 1.0,\"traceparent\":\"00-\\u0061\"," VERSION "," CAPABILITIES "{} }");
  expect_written("{\"progressToken\":\"mine\",\"b\":2}", &nobody, "9",
                 "{\"progressToken\":9,\"b\":2," VERSION "," CAPABILITIES "{}}");
  expect_written("{\"progressToken\":\"mine\"}", &nobody, NULL,
                 "{\"progressToken\":\"mine\"," VERSION "," CAPABILITIES "{}}");
}

static void what_a_client_says_in_our_place_is_overwritten(void **state) {
  expect_written("{\"io.modelcontextprotocol/protocolVersion\":\"v9\"," CAPABILITIES "{\"sampling\":{}}," CLIENT
                 "{\"name\":\"forged\"}," LEVEL "\"debug\"}",
                 &somebody, NULL,
                 "{" VERSION "," CAPABILITIES "{\"roots\":{}}," CLIENT "{\"name\":\"me\"}," LEVEL "\"info\"}");
  expect_written("{" CLIENT "{\"name\":\"forged\"}," LEVEL "\"debug\"}", &nobody, NULL,
                 "{" VERSION "," CAPABILITIES "{}}");
  expect_written("{\"io.modelcontextprotocol/client\\u0049nfo\":{}}", &nobody, NULL,
                 "{" VERSION "," CAPABILITIES "{}}");
}

static void a_server_with_a_session_is_told_none_of_it(void **state) {
  expect_written("{" VERSION "," SOMEBODY "}", NULL, NULL, "{}");
  expect_written("{\"a\":1," VERSION ",\"b\":2," SOMEBODY ",\"progressToken\":\"x\"}", NULL, NULL,
                 "{\"a\":1,\"b\":2,\"progressToken\":\"x\"}");
  expect_written("{" VERSION ",\"progressToken\":\"x\"}", NULL, "12", "{\"progressToken\":12}");
  expect_written(NULL, NULL, "12", "{\"progressToken\":12}");
  expect_written(NULL, NULL, NULL, "{}");
}

static void a_meta_that_is_no_object_counts_as_none(void **state) {
  static const char *const odd[] = {"null", "[]", "\"x\"", "7", "[{\"a\":1}]"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    expect_written(odd[i], &nobody, "1", "{" VERSION "," CAPABILITIES "{},\"progressToken\":1}");
    expect_written(odd[i], NULL, NULL, "{}");
  }
}

static void a_level_is_one_of_a_few_short_words(void **state) {
  struct meta_caller caller = {.capabilities = STR("{}"), .log_level = STR("emergency-and-more-of-it")};
  expect_written(NULL, &caller, NULL, "{" VERSION "," CAPABILITIES "{}," LEVEL "\"emergency-and-mo\"}");
}

static void it_is_known_when_nothing_would_be_left(void **state) {
  static const struct {
    const char *text;
    bool only;
  } table[] = {
      {"{}", true},
      {"{" VERSION "}", true},
      {"{" VERSION "," SOMEBODY "}", true},
      {"{\"io.modelcontextprotocol/\\u0070rotocolVersion\":1}", true},
      {"{" VERSION ",\"progressToken\":1}", false},
      {"{\"traceparent\":\"x\"}", false},
      {"{\"io.modelcontextprotocol/protocolversion\":\"x\"}", false},
      {"{\"io.modelcontextprotocol/subscriptionId\":1}", false},
  };
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (meta_only_stateless(parsed(&a, table[i].text)) != table[i].only) fail_msg("%s", table[i].text);
    // The same is said by what is written.
    struct buf b;
    buf_init(&b, 1024);
    meta_write(&b, parsed(&a, table[i].text), NULL, STR_NONE);
    assert_int_equal(str_eq(buf_view(&b), STR("{}")), table[i].only);
    buf_done(&b);
  }
  arena_done(&a);
}

static void a_message_claims_a_revision_of_whatever_type(void **state) {
  static const struct {
    const char *text, *claim;
  } table[] = {
      {"{\"params\":{\"_meta\":{" VERSION "}}}", "\"2026-07-28\""},
      {"{\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":[ 1 ]}}}", "[ 1 ]"},
      {"{\"params\":{\"_m\\u0065ta\":{\"io.modelcontextprotocol/protocolVersion\":null}}}", "null"},
      {"{\"params\":{\"_meta\":{}}}", NULL},
      {"{\"params\":{\"_meta\":\""
       "2026-07-28\"}}",
       NULL},
      {"{\"params\":[]}", NULL},
      {"{\"_meta\":{" VERSION "}}", NULL},
      {"[]", NULL},
      {"1", NULL},
  };
  struct arena a;
  arena_init(&a);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const struct json *claim = meta_claim(parsed(&a, table[i].text));
    if (!claim != !table[i].claim) fail_msg("%s", table[i].text);
    if (claim) assert_true(str_eq(json_span(claim), str_of(table[i].claim)));
  }
  assert_null(meta_claim(NULL));
  arena_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stateless_server_is_told_who_asks),
      cmocka_unit_test(what_was_there_stays_where_it_was),
      cmocka_unit_test(what_a_client_says_in_our_place_is_overwritten),
      cmocka_unit_test(a_server_with_a_session_is_told_none_of_it),
      cmocka_unit_test(a_meta_that_is_no_object_counts_as_none),
      cmocka_unit_test(a_level_is_one_of_a_few_short_words),
      cmocka_unit_test(it_is_known_when_nothing_would_be_left),
      cmocka_unit_test(a_message_claims_a_revision_of_whatever_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
