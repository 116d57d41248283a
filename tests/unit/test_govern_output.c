// SPDX-License-Identifier: Apache-2.0
// output_schemas: results that do not match the output schema of their tool.
#include "gateway_world.h"

#define ADAPTER(more) \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop'" more ",'capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}]}]," \
  "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}]"
#define SCHEMA "{'type':'object','properties':{'price':{'type':'number'}},'required':['price']}"
#define GOOD "{'content':[],'structuredContent':{'price':5}}"
#define BAD "{'content':[{'type':'text','text':'five'}],'structuredContent':{'price':'five'}}"

static struct server *a_shop(struct world *w, const char *schema) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, arena_printf(&w->arena,
                           "{'name':'find','inputSchema':{'type':'object'},'outputSchema':%s,"
                           "'annotations':{'readOnlyHint':true}}",
                           schema)
                  .p);
  return s;
}

static void write_governance(struct world *w, const char *members) {
  write_file("governance.json", arena_cstr(&w->arena, arena_printf(&w->arena, "{%.*s}", STR_ARG(quoted(w, members)))));
}

static void governed(struct world *w, const char *members) {
  given(w, "governance: governance.json\naudit: {enabled: false}\n");
  write_governance(w, members);
}

static void a_result_that_matches_its_schema_is_returned(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, SCHEMA);
  governed(w, "'output_schemas':'enforce'," ADAPTER(""));
  struct agent *a = arrives(w, MODE_DIRECT);
  returns(shop, GOOD);
  const struct json *m = calls(a, "shop:find", "{}");
  expect_part(m, "'price':5");
  expect_no_part(m, "provenance");
}

static void without_the_setting_results_are_not_validated(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, SCHEMA);
  governed(w, ADAPTER(""));
  struct agent *a = arrives(w, MODE_DIRECT);
  returns(shop, BAD);
  const struct json *m = calls(a, "shop:find", "{}");
  expect_part(m, "'price':'five'");
  expect_no_part(m, "provenance");
}

static void with_warn_the_client_gets_the_result_and_the_errors(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, SCHEMA);
  governed(w, "'output_schemas':'warn'," ADAPTER(""));
  struct agent *direct = arrives(w, MODE_DIRECT), *gateway = arrives(w, MODE_GATEWAY);
  returns(shop, BAD);
  const struct json *m = calls(direct, "shop:find", "{}");
  expect_part(m, "'price':'five'");
  expect_part(m, "'toolgate/provenance':{'output_schema':{'errors':[{'pointer':'/price','keyword':'type'");
  returns(shop, BAD);
  expect_part(calls(gateway, "shop:find", "{}"), "output_schema");
}

static void with_enforce_an_invalid_result_becomes_a_fault(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, SCHEMA);
  governed(w, "'output_schemas':'enforce'," ADAPTER(""));
  static const enum surface_mode modes[] = {MODE_DIRECT, MODE_GATEWAY, MODE_SERVERS};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    struct agent *a = arrives(w, modes[i]);
    returns(shop, BAD);
    const struct json *m = calls(a, "shop:find", "{}");
    expect_fault(m, "OUTPUT_SCHEMA_INVALID");
    expect_no_part(m, "five");
    expect_called(shop, "find {}\n");
  }
}

static void with_enforce_structured_content_is_required(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, SCHEMA);
  governed(w, "'output_schemas':'enforce'," ADAPTER(""));
  struct agent *a = arrives(w, MODE_DIRECT);
  answers(shop, "five");
  expect_fault(calls(a, "shop:find", "{}"), "OUTPUT_SCHEMA_INVALID");
  reports(shop, "no such price");  // an error needs no structured content
  expect_part(calls(a, "shop:find", "{}"), "no such price");
}

static void the_setting_of_an_adapter_comes_before_that_of_the_file(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, SCHEMA);
  struct server *docs = serves(w, "docs", NULL);
  has_tool(docs, "{'name':'page','inputSchema':{'type':'object'},'outputSchema':" SCHEMA "}");
  governed(w, "'output_schemas':'enforce','context':{'unlisted_servers':'allow'}," ADAPTER(",'output_schemas':'off'"));
  struct agent *a = arrives(w, MODE_DIRECT);
  returns(shop, BAD);
  expect_part(calls(a, "shop:find", "{}"), "'price':'five'");
  returns(docs, BAD);
  expect_fault(calls(a, "docs:page", "{}"), "OUTPUT_SCHEMA_INVALID");
}

static void with_enforce_a_tool_whose_output_schema_is_invalid_is_not_called(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "{'type':'strnig'}");
  governed(w, "'output_schemas':'enforce'," ADAPTER(""));
  struct agent *a = arrives(w, MODE_DIRECT);
  expect_fault(calls(a, "shop:find", "{}"), "OUTPUT_SCHEMA_INVALID");
  expect_called(shop, "");
}

static void an_invalid_result_is_not_answered_from_the_cache_later(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, SCHEMA);
  governed(w, "'output_schemas':'warn'," ADAPTER(""));
  given(w, "cache: {read_only: true, ttl: 600}\n");
  struct agent *a = arrives(w, MODE_DIRECT);
  returns(shop, BAD);
  expect_part(calls(a, "shop:find", "{}"), "'price':'five'");
  const struct json *m = calls(a, "shop:find", "{}");
  expect_part(m, "'cache_hit':true");
  expect_part(m, "output_schema");
  expect_called(shop, "find {}\n");
  char *const env[] = {(char *)"PATH=/bin", NULL};
  char told[256];
  struct config next = {0};
  struct config_options options = w->place->options;
  struct fault f;
  options.before = w->gateway.config;
  write_governance(w, "'output_schemas':'enforce'," ADAPTER(""));
  assert_true(config_load(&next, &options, env, &w->place->problems));
  put_scripts(w, &next);
  assert_true(gateway_take(&w->gateway, &next, told, sizeof told, &f));
  config_done(&next);
  turn(w);
  expect_fault(calls(a, "shop:find", "{}"), "OUTPUT_SCHEMA_INVALID");
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_result_that_matches_its_schema_is_returned),
      TEST(without_the_setting_results_are_not_validated),
      TEST(with_warn_the_client_gets_the_result_and_the_errors),
      TEST(with_enforce_an_invalid_result_becomes_a_fault),
      TEST(with_enforce_structured_content_is_required),
      TEST(the_setting_of_an_adapter_comes_before_that_of_the_file),
      TEST(with_enforce_a_tool_whose_output_schema_is_invalid_is_not_called),
      TEST(an_invalid_result_is_not_answered_from_the_cache_later),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
