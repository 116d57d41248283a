// SPDX-License-Identifier: Apache-2.0
// Pins of a governance file, environments, and the retries that it sets for a tool.
#include "gateway_world.h"

#define OBSERVE "'class':'observe','approval_mode':'read_only'"
#define ACT "'class':'act','approval_mode':'destructive'"
#define ALLOW "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}]"
#define REST "'context':{'agents':{'ann':{},'bob':{'environment':'prod'}}}"

// sha256 of {"type":"object"}
#define PIN "sha256:a2c799262a3ce3c19ef5cdd983bf3d12b43ab3c426227091b909dcb7054738c0"
#define OTHER "sha256:0000000000000000000000000000000000000000000000000000000000000000"

static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','inputSchema':{'type':'object'},'annotations':{'idempotentHint':true}}");
  return s;
}

// The adapter of the shop has these members, and its capability `find` those.
static void governed(struct world *w, const char *adapter, const char *capability) {
  given(w, "governance: governance.json\naudit: {enabled: false}\n");
  str text = arena_printf(&w->arena,
                          "{'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop'%s,'capabilities':["
                          "{'name':'find',%s}]}]," ALLOW "," REST ",'idempotency':{'mint':'request'}}",
                          adapter, capability);
  write_file("governance.json", arena_cstr(&w->arena, quoted(w, text.p)));
}

static void a_tool_with_the_pinned_schema_is_called(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, "", OBSERVE ",'input_schema':'" PIN "'");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\n");
}

static void a_tool_with_another_schema_than_the_pinned_one_is_denied(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, "", OBSERVE ",'input_schema':'" OTHER "'");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "SCHEMA_DRIFT");
  expect_part(m, "'pointer':'/adapters/0/capabilities/0/input_schema'");
  expect_part(m, "'expected':'" OTHER "','actual':'" PIN "'");
  expect_fault(calls_with(ann, "shop:find", "{}", "'_meta':{'toolgate/dryRun':true}"), "SCHEMA_DRIFT");
  expect_called(shop, "");
}

static void a_tool_without_the_pinned_output_schema_is_denied(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, "", OBSERVE ",'output_schema':'" PIN "'");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "SCHEMA_DRIFT");
  expect_no_part(m, "'actual'");
  expect_called(shop, "");
}

static void a_schema_that_changes_later_denies_the_next_call(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, "", OBSERVE ",'input_schema':'" PIN "'");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  shop->defined[ITEM_TOOL][0] = quoted(w, "{'name':'find','inputSchema':{'type':'object','title':'x'}}");
  says(shop, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
  pass(w, 2000);
  expect_fault(calls(ann, "shop:find", "{}"), "SCHEMA_DRIFT");
  expect_called(shop, "find {}\n");
}

static void a_server_of_the_expected_version_is_called(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, ",'version':'" TOOLGATE_VERSION "','protocol':'mcp','protocol_version':'2025-11-25'", OBSERVE);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\n");
}

static void a_server_of_another_version_is_not_called(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, ",'version':'9.9.9'", OBSERVE);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "VERSION_MISMATCH");
  expect_part(m, "'pointer':'/adapters/0/version','expected':'9.9.9','actual':'" TOOLGATE_VERSION "'");
  expect_called(shop, "");
}

static void a_server_with_another_protocol_version_is_not_called(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, ",'protocol_version':'2025-03-26'", OBSERVE);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "shop:find", "{}"), "VERSION_MISMATCH");
  expect_called(shop, "");
}

static void a_server_with_another_protocol_is_not_called(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, ",'protocol':'a2a'", OBSERVE);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "shop:find", "{}"), "VERSION_MISMATCH");
  expect_called(shop, "");
}

static void an_adapter_of_an_environment_does_not_exist_in_other_environments(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, ",'environment':'prod'", OBSERVE);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *bob = arrives_as(w, MODE_DIRECT, "bob");
  expect_no_part(asks(ann, "tools/list", "{}"), "find");
  expect_fault(calls(ann, "shop:find", "{}"), "ARGS_INVALID");
  expect_text(calls(bob, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\n");
}

static void the_environment_of_a_capability_comes_before_that_of_its_adapter(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed(w, ",'environment':'prod'", OBSERVE ",'environment':'test'");
  struct agent *bob = arrives_as(w, MODE_DIRECT, "bob");
  expect_no_part(asks(bob, "tools/list", "{}"), "find");
}

static void an_adapter_has_retries_of_its_own(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, ",'retry':{'max_attempts':3,'base_delay':1,'max_delay':1}", OBSERVE);
  given(w, "timeouts: {request: 1}\n");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  for (int i = 0; i < 3; i++) holds(shop);
  uint64_t id = begins(ann, "shop:find", "{}");
  pass(w, 3 * 1000 + 2 * 1000 - 100);
  assert_false(is_answered(ann, id));
  pass(w, 300);
  const struct json *m = hears(ann, id);
  expect_fault(m, "UPSTREAM_TIMEOUT");
  expect_words(m, "\"attempts\":3");
}

static void retries_of_a_capability_come_before_those_of_the_configuration(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, "", OBSERVE ",'retry':{'max_attempts':1}");
  given(w, "retry: {max_attempts: 3}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  expect_fault(calls(ann, "shop:find", "{}"), "UPSTREAM_UNAVAILABLE");
  expect_called(shop, "find {}\ncancelled find\n");
}

static void a_hint_of_the_server_does_not_make_a_call_of_class_act_repeatable(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);  // says that the tool is idempotent
  governed(w, "", ACT ",'retry':{'max_attempts':3}");
  given(w, "retry: {max_attempts: 3, unsafe: true}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  expect_fault(calls(ann, "shop:find", "{}"), "UPSTREAM_UNAVAILABLE");
  expect_called(shop, "find {}\ncancelled find\n");
}

static void a_call_is_repeated_if_the_upstream_recognises_repeated_calls(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, ",'default_idempotency':'native','retry':{'max_attempts':2}", ACT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  breaks(shop);
  uint64_t id = begins(ann, "shop:find", "{}");
  is_asked(shop);
  pass(w, 2000);
  expect_text(hears(ann, id), "ok");
  expect_called(shop, "find {}\ncancelled find\nfind {}\n");
}

static void retries_end_with_the_time_limit_of_the_tool(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed(w, "", OBSERVE ",'timeout_ms':1500,'retry':{'max_attempts':100,'base_delay':0.1,'max_delay':0.1}");
  given(w, "timeouts: {request: 1}\n");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  for (int i = 0; i < 3; i++) holds(shop);
  uint64_t id = begins(ann, "shop:find", "{}");
  pass(w, 1600);
  expect_fault(hears(ann, id), "UPSTREAM_TIMEOUT");
  expect_called(shop, "find {}\ncancelled find\nfind {}\ncancelled find\n");
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_tool_with_the_pinned_schema_is_called),
      TEST(a_tool_with_another_schema_than_the_pinned_one_is_denied),
      TEST(a_tool_without_the_pinned_output_schema_is_denied),
      TEST(a_schema_that_changes_later_denies_the_next_call),
      TEST(a_server_of_the_expected_version_is_called),
      TEST(a_server_of_another_version_is_not_called),
      TEST(a_server_with_another_protocol_version_is_not_called),
      TEST(a_server_with_another_protocol_is_not_called),
      TEST(an_adapter_of_an_environment_does_not_exist_in_other_environments),
      TEST(the_environment_of_a_capability_comes_before_that_of_its_adapter),
      TEST(an_adapter_has_retries_of_its_own),
      TEST(retries_of_a_capability_come_before_those_of_the_configuration),
      TEST(a_hint_of_the_server_does_not_make_a_call_of_class_act_repeatable),
      TEST(a_call_is_repeated_if_the_upstream_recognises_repeated_calls),
      TEST(retries_end_with_the_time_limit_of_the_tool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
