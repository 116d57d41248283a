// SPDX-License-Identifier: Apache-2.0
// Read-only aliases: tools that clients in mode gateway see next to the meta-tools.
#include "gateway_world.h"
#include "governance_world.h"

#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}," \
  "{'name':'check','class':'verify','approval_mode':'read_only'}," \
  "{'name':'peek','class':'observe','approval_mode':'network'}," \
  "{'name':'think','class':'think_support','approval_mode':'read_only'}," \
  "{'name':'order','class':'act','approval_mode':'destructive'}]}]"
#define PERMISSION(id, name, more) \
  "{'permission_id':'" id "','adapter_id':'adp_shop','capability':'" name "','allow':true" more "}"
#define PERMISSIONS "'permissions':[" PERMISSION("p1", "find", "") "," PERMISSION("p2", "check", "") "]"
#define ALIASES "'aliases':[{'alias':'find_goods','capability_id':'adp_shop.find','ttl_s':60}]"
#define FIND(schema) "{'name':'find','description':'Find goods.','inputSchema':" schema "}"
#define OBJECT "{'type':'object'}"
#define QUERY \
  "{'type':'object','properties':{'q':{'type':'string'},'limit':{'type':'integer'}},'required':['limit','q']}"

static struct server *a_shop(struct world *w, const char *find) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, find);
  has_tool(s, "{'name':'order','description':'Order goods.','inputSchema':{'type':'object'}}");
  return s;
}

static void write_governance(struct world *w, const char *members) {
  str text = arena_printf(&w->arena, "{%.*s}", STR_ARG(quoted(w, members)));
  write_file("governance.json", arena_cstr(&w->arena, text));
}

static void governed_by(struct world *w, const char *members) {
  given(w, "governance: governance.json\naudit: {enabled: false}\n");
  write_governance(w, members);
}

static void is_governed_anew_by(struct world *w, const char *members) {
  char *const env[] = {(char *)"PATH=/bin", NULL};
  char told[256];
  struct config next = {0};
  struct config_options options = w->place->options;
  struct fault f;
  write_governance(w, members);
  options.before = w->gateway.config;
  assert_true(config_load(&next, &options, env, &w->place->problems));
  put_scripts(w, &next);
  assert_true(gateway_take(&w->gateway, &next, told, sizeof told, &f));
  config_done(&next);
  pass(w, 1000);
}

// A call of a listed tool by its name.
static const struct json *calls_listed(struct agent *a, const char *name, const char *args) {
  char params[512];
  snprintf(params, sizeof params, "{'name':'%s','arguments':%s}", name, args);
  return asks(a, "tools/call", params);
}

static const struct json *alias_in(struct world *w, const struct json *list, const char *name) {
  const struct json *tools = json_get(json_get(list, STR("result")), STR("tools"));
  JSON_EACH(it, tools)
    if (json_equals_str(json_get(it, STR("name")), str_of(name))) return it;
  return NULL;
}

static str epoch_of(struct world *w, struct agent *a, const char *name) {
  const struct json *alias = alias_in(w, asks(a, "tools/list", "{}"), name);
  assert_non_null(alias);
  const struct json *about = json_get(json_get(alias, STR("_meta")), STR("toolgate/alias"));
  str epoch = STR_NONE;
  assert_true(json_string(json_get(about, STR("epoch")), &w->arena, &epoch));
  return arena_str(&w->arena, epoch);
}

static void an_alias_is_listed_with_the_definition_of_its_tool(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS "," PERMISSIONS "," ALIASES);
  struct agent *ann = arrives(w, MODE_GATEWAY), *direct = arrives(w, MODE_DIRECT);
  const struct json *list = asks(ann, "tools/list", "{}");
  expect_part(list, "\"name\":\"tool_execute\"");
  expect_part(list, "\"name\":\"find_goods\",\"description\":\"Find goods.\",\"inputSchema\":{\"type\":\"object\"}");
  expect_no_part(asks(direct, "tools/list", "{}"), "find_goods");
  expect_text(calls_listed(ann, "find_goods", "{'q':'tea'}"), "ok");
  expect_called(shop, "find {'q':'tea'}\n");
}

static void k01_an_alias_is_void_after_a_change_of_permissions(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS "," PERMISSIONS "," ALIASES);
  struct agent *ann = arrives(w, MODE_GATEWAY);
  assert_non_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  is_governed_anew_by(w, ADAPTERS ",'permissions':[" PERMISSION("p2", "check", "") "]," ALIASES);
  expect_part(calls_listed(ann, "find_goods", "{}"), "\"code\":-32602");  // at once, before any discovery
  assert_non_null(heard(ann, "notifications/tools/list_changed"));
  assert_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  expect_called(shop, "");
}

#define BUNDLE(allow) \
  "'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':[{'rule_id':'r','then':{'allow':" allow \
  "}}]}}]"

static void k01_an_alias_is_void_after_a_change_of_policy(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS "," PERMISSIONS "," ALIASES "," BUNDLE("true"));
  struct agent *ann = arrives(w, MODE_GATEWAY);
  assert_non_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  is_governed_anew_by(w, ADAPTERS "," PERMISSIONS "," ALIASES "," BUNDLE("false"));
  expect_part(calls_listed(ann, "find_goods", "{}"), "\"code\":-32602");
  assert_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  expect_called(shop, "");
}

static void k01_an_alias_is_void_after_a_change_of_access_rules(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
#define SHOP "\"allow\":{\"servers\":[\"shop\"],\"tools\":{\"shop\":[\"*\"]}}"
  write_file(".mcp-gateway-rules.json", "{\"agents\":{\"ann\":{" SHOP "}}}");
  governed_by(w, ADAPTERS "," PERMISSIONS "," ALIASES);
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  assert_non_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  write_file(".mcp-gateway-rules.json", "{\"agents\":{\"ann\":{" SHOP ",\"deny\":{\"tools\":{\"shop\":[\"find\"]}}}}}");
  is_governed_anew_by(w, ADAPTERS "," PERMISSIONS "," ALIASES);
  expect_part(calls_listed(ann, "find_goods", "{}"), "\"code\":-32602");
  assert_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  expect_called(shop, "");
}

static void an_alias_states_how_long_its_definition_may_be_used(void **state) {
  struct world *w = *state;
  a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS "," PERMISSIONS ",'aliases':[{'alias':'one','capability_id':'adp_shop.find','ttl_s':60},"
                          "{'alias':'two','capability_id':'adp_shop.find'}]");
  struct agent *ann = arrives(w, MODE_GATEWAY);
  const struct json *list = asks(ann, "tools/list", "{}");
  expect_part(alias_in(w, list, "one"), "\"ttl_s\":60");
  expect_part(alias_in(w, list, "two"), "\"ttl_s\":300");
}

static void another_version_of_the_adapter_gives_another_epoch(void **state) {
  struct world *w = *state;
  a_shop(w, FIND(OBJECT));
#define VERSIONED(version) \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','version':'" version \
  "','capabilities':[{'name':'find','class':'observe','approval_mode':'read_only'}]}]," \
  "'permissions':[" PERMISSION("p1", "find", "") "]," ALIASES
  governed_by(w, VERSIONED("1"));
  struct agent *ann = arrives(w, MODE_GATEWAY);
  str first = epoch_of(w, ann, "find_goods");
  is_governed_anew_by(w, VERSIONED("2"));
  assert_false(str_eq(first, epoch_of(w, ann, "find_goods")));
}

static void every_change_of_rules_or_schemas_gives_another_epoch(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS "," PERMISSIONS "," ALIASES);
  struct agent *ann = arrives(w, MODE_GATEWAY);
  str first = epoch_of(w, ann, "find_goods");
  assert_true(str_eq(first, epoch_of(w, ann, "find_goods")));
  is_governed_anew_by(w, ADAPTERS ",'permissions':[" PERMISSION("p9", "find", "") "]," ALIASES);
  str second = epoch_of(w, ann, "find_goods");
  assert_false(str_eq(first, second));
  shop->defined[ITEM_TOOL][0] = quoted(w, FIND(QUERY));
  says(shop, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
  pass(w, 1000);
  assert_non_null(heard(ann, "notifications/tools/list_changed"));
  expect_part(asks(ann, "tools/list", "{}"), "\"limit\"");
  assert_false(str_eq(second, epoch_of(w, ann, "find_goods")));
}

static void a_call_by_an_alias_passes_every_check(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS
              ",'permissions':[" PERMISSION("p", "find", ",'arg_constraints':{'q':{'enum':['tea']}}") "]," ALIASES);
  struct agent *ann = arrives(w, MODE_GATEWAY);
  expect_fault(calls_listed(ann, "find_goods", "{'q':'gold'}"), "ARG_CONSTRAINT_VIOLATION");
  expect_text(calls_listed(ann, "find_goods", "{'q':'tea'}"), "ok");
  expect_called(shop, "find {'q':'tea'}\n");
}

static void another_tenant_has_no_alias(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS ",'permissions':[" PERMISSION(
                     "p", "find",
                     ",'tenants':['acme']") "]," ALIASES
                                            ",'context':{'agents':{'ann':{'tenant':'acme'},'eve':{'tenant':'other'}}}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *eve = arrives_as(w, MODE_GATEWAY, "eve");
  assert_non_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  assert_null(alias_in(w, asks(eve, "tools/list", "{}"), "find_goods"));
  expect_part(calls_listed(eve, "find_goods", "{}"), "\"code\":-32602");
  expect_called(shop, "");
}

static void fixed_arguments_cannot_be_replaced(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(QUERY));
  governed_by(w,
              ADAPTERS "," PERMISSIONS
                       ",'aliases':[{'alias':'find_one','capability_id':'adp_shop.find','args_template':{'limit':1}}]");
  struct agent *ann = arrives(w, MODE_GATEWAY);
  const struct json *list = asks(ann, "tools/list", "{}");
  expect_part(list, "\"properties\":{\"q\":{\"type\":\"string\"}},\"required\":[\"q\"]");
  expect_text(calls_listed(ann, "find_one", "{'q':'tea'}"), "ok");
  expect_text(calls_listed(ann, "find_one", "{'q':'tea','limit':9}"), "ok");
  expect_called(shop, "find {'q':'tea','limit':1}\nfind {'q':'tea','limit':1}\n");
}

static void a_quarantined_tool_has_no_alias(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, FIND(OBJECT));
  governed_by(w, ADAPTERS "," PERMISSIONS "," ALIASES ",'pins':'enforce'");
  struct agent *ann = arrives(w, MODE_GATEWAY);
  assert_non_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  shop->defined[ITEM_TOOL][0] = quoted(w, FIND(QUERY));
  says(shop, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
  pass(w, 1000);
  assert_null(alias_in(w, asks(ann, "tools/list", "{}"), "find_goods"));
  expect_part(calls_listed(ann, "find_goods", "{}"), "\"code\":-32602");
  expect_called(shop, "");
}

static void expect_problem(const char *aliases, const char *problem) {
  struct buf b;
  char text[4096];
  buf_init(&b, 1 << 16);
  snprintf(text, sizeof text, "{" ADAPTERS ",'aliases':[%s]}", aliases);
  struct governance *g = governance_try(text, &b);
  if (g || !contains(buf_view(&b), str_of(problem))) fail_msg("%s: %.*s", aliases, STR_ARG(buf_view(&b)));
  buf_done(&b);
}

static void k02_only_a_read_only_capability_can_have_an_alias(void **state) {
  static const char *const others[] = {"order", "peek", "think"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char alias[128];
    snprintf(alias, sizeof alias, "{'alias':'a','capability_id':'adp_shop.%s'}", others[i]);
    expect_problem(alias, "/aliases/0 ALIAS_NOT_READ_ONLY");
  }
  struct governance *g = governance_of("{" ADAPTERS ",'aliases':[{'alias':'a','capability_id':'adp_shop.check'},"
                                       "{'alias':'b','capability_id':'adp_shop.find','allow_listed':true,"
                                       "'invalidate_on':['policy_version','permission_version','schema_hash',"
                                       "'adapter_version']}]}");
  governance_unref(&g);
}

static void an_alias_cannot_be_exempted_from_a_change(void **state) {
  expect_problem("{'alias':'a','capability_id':'adp_shop.find','invalidate_on':['policy_version']}",
                 "/aliases/0/invalidate_on");
  expect_problem("{'alias':'a','capability_id':'adp_shop.find','allow_listed':false}", "/aliases/0/allow_listed");
}

static void names_of_aliases_are_unique_and_not_those_of_meta_tools(void **state) {
  static const char *const names[] = {"tool_execute", "resource_x", "a b", "", "a.b", "\u00e4"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char alias[128];
    snprintf(alias, sizeof alias, "{'alias':'%s','capability_id':'adp_shop.find'}", names[i]);
    expect_problem(alias, "/aliases/0/alias");
  }
  expect_problem("{'alias':'a','capability_id':'adp_shop.find'},{'alias':'a','capability_id':'adp_shop.check'}",
                 "/aliases/1");
  expect_problem("{'alias':'a','capability_id':'adp_shop.none'}", "/aliases/0");
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_alias_is_listed_with_the_definition_of_its_tool),
      TEST(k01_an_alias_is_void_after_a_change_of_permissions),
      TEST(k01_an_alias_is_void_after_a_change_of_policy),
      TEST(k01_an_alias_is_void_after_a_change_of_access_rules),
      TEST(an_alias_states_how_long_its_definition_may_be_used),
      TEST(another_version_of_the_adapter_gives_another_epoch),
      TEST(every_change_of_rules_or_schemas_gives_another_epoch),
      TEST(a_call_by_an_alias_passes_every_check),
      TEST(another_tenant_has_no_alias),
      TEST(fixed_arguments_cannot_be_replaced),
      TEST(a_quarantined_tool_has_no_alias),
      cmocka_unit_test(k02_only_a_read_only_capability_can_have_an_alias),
      cmocka_unit_test(an_alias_cannot_be_exempted_from_a_change),
      cmocka_unit_test(names_of_aliases_are_unique_and_not_those_of_meta_tools),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
