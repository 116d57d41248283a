// SPDX-License-Identifier: Apache-2.0
// The modes: what an agent sees of the same servers in each of them, how it calls, and the form of faults.
#include "gateway_world.h"

#define ANYTHING "'inputSchema':{'type':'object'}"
#define FIND \
  "{'name':'find','description':'Find goods by their name.','inputSchema':{'type':'object','properties':" \
  "{'q':{'type':'string'}},'required':['q']}}"
#define PAY "{'name':'pay','description':'Pay a bill.'," ANYTHING "}"

static const enum surface_mode all_modes[] = {MODE_GATEWAY, MODE_TRANSPARENT, MODE_DIRECT, MODE_SERVERS};
enum { MODES = sizeof all_modes / sizeof *all_modes };

struct town {
  struct server *shop, *bank;
};

static struct town a_town(struct world *w) {
  struct town t = {serves(w, "shop", "'description':'Goods of all sorts'"), serves(w, "bank", NULL)};
  has_tool(t.shop, FIND);
  has_tool(t.bank, PAY);
  return t;
}

// The names in tools/list, in order, with blanks.
static str tools_of(struct agent *a) {
  struct world *w = a->world;
  const struct json *m = asks(a, "tools/list", NULL), *tools = json_get(json_get(m, STR("result")), STR("tools"));
  str names = STR("");
  assert_non_null(tools);
  JSON_EACH(it, tools) {
    str name = member(w, it, "name");
    names = arena_printf(&w->arena, "%.*s%s%.*s", STR_ARG(names), names.n ? " " : "", STR_ARG(name));
  }
  return names;
}

static void expect_tools(struct agent *a, const char *want) {
  str names = tools_of(a);
  if (!str_eq(names, str_of(want))) fail_msg("'%.*s' instead of '%s'", STR_ARG(names), want);
}

// ---- every mode

static void a_call_has_the_same_result_in_every_mode(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  for (size_t i = 0; i < MODES; i++) {
    answers(t.shop, "three apples");
    const struct json *m = calls(arrives(w, all_modes[i]), "shop:find", "{'q':'apple'}");
    expect_text(m, "three apples");
    expect_part(m, "'isError':false");
    expect_called(t.shop, "find {'q':'apple'}\n");
  }
  expect_called(t.bank, "");
}

static void agents_of_all_modes_share_one_gateway(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  struct agent *agents[MODES];
  uint64_t ids[MODES];
  for (size_t i = 0; i < MODES; i++) {
    agents[i] = arrives(w, all_modes[i]);
    holds(t.shop);
    ids[i] = begins(agents[i], "shop:find", "{'q':'x'}");
  }
  for (size_t i = 0; i < MODES; i++) releases(t.shop, (const char *[]){"one", "two", "three", "four"}[i]);
  expect_text(hears(agents[0], ids[0]), "one");
  expect_text(hears(agents[1], ids[1]), "two");
  expect_text(hears(agents[2], ids[2]), "three");
  expect_text(hears(agents[3], ids[3]), "four");
}

static void wrong_arguments_are_told_in_the_form_of_the_mode(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  const struct json *m = calls(arrives(w, MODE_GATEWAY), "shop:find", "{}");
  expect_fault(m, "ARGS_INVALID");
  expect_part(m, "'isError':true");
  expect_words(m, "{'error':'ARGS_INVALID','message':'arguments: the property \\'q\\' is missing','path':'shop:find#");
  expect_words(m, "'retryable':false,'details':{'errors':[");
  m = calls(arrives(w, MODE_TRANSPARENT), "shop:find", "{}");
  expect_words(m, "{'error':'ARGS_INVALID',");
  m = calls(arrives(w, MODE_SERVERS), "shop:find", "{}");
  expect_fault(m, "ARGS_INVALID");
  expect_words(m,
               "{'error':{'code':'ARGS_INVALID','message':'arguments: the property \\'q\\' is missing','rule':null,");
  m = calls(arrives(w, MODE_DIRECT), "shop:find", "{}");
  expect_part(m, "'error':{'code':-32602,'message':'arguments: the property \\'q\\' is missing','data':"
                 "{'error':'ARGS_INVALID','retryable':false,'details':{'errors':[");
  expect_called(t.shop, "");
}

static void a_timeout_is_told_in_the_form_of_the_mode(void **state) {
  static const char *const forms[] = {
      [MODE_GATEWAY] = "{'error':'UPSTREAM_TIMEOUT',",
      [MODE_TRANSPARENT] = "{'error':'UPSTREAM_TIMEOUT',",
      [MODE_DIRECT] = "'data':{'error':'UPSTREAM_TIMEOUT','retryable':true",
      [MODE_SERVERS] = "{'error':{'code':'TIMEOUT',",
  };
  struct world *w = *state;
  given(w, "timeouts: {request: 1}\n");
  struct town t = a_town(w);
  for (size_t i = 0; i < MODES; i++) {
    struct agent *a = arrives(w, all_modes[i]);
    holds(t.bank);
    uint64_t id = begins(a, "bank:pay", "{}");
    pass(w, 1100);
    if (a->mode == MODE_DIRECT) expect_part(hears(a, id), forms[a->mode]);
    else expect_words(hears(a, id), forms[a->mode]);
    expect_called(t.bank, "pay {}\ncancelled pay\n");
  }
}

static void a_method_that_nobody_has_is_not_found(void **state) {
  struct world *w = *state;
  a_town(w);
  for (size_t i = 0; i < MODES; i++) expect_part(asks(arrives(w, all_modes[i]), "vendor/other", "{}"), "'code':-32601");
}

// ---- mode gateway

static void mode_gateway_has_meta_tools_and_no_tool_of_a_server(void **state) {
  struct world *w = *state;
  a_town(w);
  expect_tools(arrives(w, MODE_GATEWAY), "tool_browse tool_execute tool_view");
}

static void mode_gateway_has_meta_tools_for_resources_and_prompts_if_there_are_any(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  has_resource(t.shop, "{'uri':'shop://list','name':'list'}");
  has_prompt(t.bank, "{'name':'remind','arguments':[{'name':'whom','required':true}]}");
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_tools(a, "tool_browse tool_execute tool_view resource_browse resource_read prompt_browse prompt_get");
  expect_text(uses(a, "resource_browse", "{'query':'list'}"), "resource::shop:list#");
  expect_part(uses(a, "resource_read", "{'resource_id':'resource::shop:list'}"), "'text':'ok'");
  expect_fault(uses(a, "resource_read", "{'resource_id':'resource::shop:none'}"), "RESOURCE_NOT_FOUND");
  expect_called(t.shop, "shop://list\n");
  expect_fault(uses(a, "prompt_get", "{'prompt_id':'prompt::bank:remind','args':{}}"), "ARGS_INVALID");
  expect_fault(uses(a, "prompt_get", "{'prompt_id':'prompt::bank:none','args':{}}"), "PROMPT_NOT_FOUND");
  expect_called(t.bank, "");
  expect_part(uses(a, "prompt_get", "{'prompt_id':'prompt::bank:remind','args':{'whom':'Ada'}}"), "ok");
  expect_called(t.bank, "remind {'whom':'Ada'}\n");
}

static void a_search_returns_cards_with_ids_that_can_be_called(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  struct agent *a = arrives(w, MODE_GATEWAY);
  const struct json *m = uses(a, "tool_browse", "{'query':'find goods'}");
  expect_text(m, "shop:find#");
  expect_text(m, "Find goods by their name.");
  str text = text_of(w, m);
  const char *id = memmem(text.p, text.n, "shop:find#", 10);
  id = arena_cstr(&w->arena, (str){id, strlen("shop:find#") + 8});
  expect_text(uses(a, "tool_browse", arena_printf(&w->arena, "{'tool_id':'%s'}", id).p), "'required':['q']");
  expect_text(calls(a, id, "{'q':'x'}"), "ok");
  expect_called(t.shop, "find {'q':'x'}\n");
}

static void a_path_leads_from_the_servers_to_their_tools(void **state) {
  struct world *w = *state;
  a_town(w);
  struct agent *a = arrives(w, MODE_GATEWAY);
  const struct json *m = uses(a, "tool_browse", "{'path':'/'}");
  expect_text(m, "/shop");
  expect_text(m, "/bank");
  expect_text(uses(a, "tool_browse", "{'path':'/bank'}"), "bank:pay#");
  expect_fault(uses(a, "tool_browse", "{'path':'/park'}"), "PATH_NOT_FOUND");
  expect_fault(uses(a, "tool_browse", "{'path':'park'}"), "PATH_INVALID");
}

static void a_meta_tool_takes_no_arguments_that_it_does_not_have(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_fault(uses(a, "tool_execute", "{'tool_id':'bank:pay','args':{},'arg':1}"), "ARGS_INVALID");
  expect_fault(uses(a, "tool_execute", "{'tool_id':7,'args':{}}"), "ARGS_INVALID");
  expect_fault(uses(a, "tool_execute", "{'tool_id':'bank:pay','args':[1]}"), "ARGS_INVALID");
  expect_called(t.bank, "");
}

static void a_tool_of_a_server_is_not_called_by_its_name_in_mode_gateway(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  expect_part(uses(arrives(w, MODE_GATEWAY), "pay", "{}"), "'code':-32602");
  expect_called(t.bank, "");
}

static void a_name_that_two_servers_have_is_told_apart_by_its_server(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  has_tool(t.shop, PAY);
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_text(calls(a, "bank:pay", "{}"), "ok");
  expect_called(t.bank, "pay {}\n");
  expect_text(calls(a, "shop:pay", "{}"), "ok");
  expect_called(t.shop, "pay {}\n");
}

// ---- mode transparent

static void mode_transparent_lists_every_tool_without_its_schema(void **state) {
  struct world *w = *state;
  a_town(w);
  struct agent *a = arrives(w, MODE_TRANSPARENT);
  str names = tools_of(a);
  assert_true(contains(names, STR("tool_hydrate")) && contains(names, STR("tool_execute")));
  assert_true(contains(names, STR("find")) && contains(names, STR("pay")));
  expect_no_part(asks(a, "tools/list", NULL), "'required':['q']");
}

static void a_tool_of_mode_transparent_is_hydrated_and_called_by_its_listed_name(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  struct agent *a = arrives(w, MODE_TRANSPARENT);
  str names = tools_of(a), name = STR("");
  while (!contains(name, STR("find"))) assert_true(str_cut(names, ' ', &name, &names) || contains(name, STR("find")));
  const char *safe = arena_cstr(&w->arena, name);
  expect_text(uses(a, "tool_hydrate", arena_printf(&w->arena, "{'tool_id':'%s'}", safe).p), "'required':['q']");
  expect_called(t.shop, "");
  expect_text(uses(a, safe, "{'q':'x'}"), "ok");
  expect_called(t.shop, "find {'q':'x'}\n");
}

// ---- mode direct

static void mode_direct_lists_everything_as_the_servers_do(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  has_resource(t.shop, "{'uri':'shop://list','name':'list','x-own':1.50}");
  has_prompt(t.bank, "{'name':'remind'}");
  struct agent *a = arrives(w, MODE_DIRECT);
  expect_tools(a, "find pay");
  expect_part(asks(a, "tools/list", NULL), FIND);
  expect_part(asks(a, "resources/list", NULL), "{'uri':'shop://list','name':'list','x-own':1.50}");
  expect_part(asks(a, "prompts/list", NULL), "{'name':'remind'}");
  expect_part(asks(a, "resources/templates/list", NULL), "'resourceTemplates':[]");
}

static void names_that_clash_get_the_name_of_their_server(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  has_tool(t.shop, PAY);
  struct agent *a = arrives(w, MODE_DIRECT);
  str names = tools_of(a);
  assert_true(contains(names, STR("shop")) && contains(names, STR("bank")) && !contains(names, STR(" pay ")));
  expect_part(calls(a, "bank:pay", "{}"), "Unknown tool");
  expect_called(t.bank, "");
  expect_called(t.shop, "");
}

static void in_mode_direct_long_lists_have_pages(void **state) {
  struct world *w = *state;
  given(w, "limits: {page_size: 1}\n");
  a_town(w);
  struct agent *a = arrives(w, MODE_DIRECT);
  const struct json *m = asks(a, "tools/list", NULL);
  expect_part(m, "'name':'find'");
  expect_no_part(m, "'name':'pay'");
  str cursor = member(w, m, "result.nextCursor");
  assert_true(cursor.n);
  m = asks(a, "tools/list", arena_printf(&w->arena, "{'cursor':'%.*s'}", STR_ARG(cursor)).p);
  expect_part(m, "'name':'pay'");
  assert_int_equal(member(w, m, "result.nextCursor").n, 0);
  expect_part(asks(a, "tools/list", "{'cursor':'nonsense'}"), "'code':-32602");
}

static void a_result_of_mode_direct_is_byte_for_byte_the_servers(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  returns(t.bank, "{'content':[], 'structuredContent':{'sum':1.50},'own':[ 1 ]}");
  expect_part(calls(arrives(w, MODE_DIRECT), "bank:pay", "{}"),
              "'result':{'content':[], 'structuredContent':{'sum':1.50},'own':[ 1 ]}");
}

// ---- mode servers

static void mode_servers_lists_three_tools_for_everybody(void **state) {
  struct world *w = *state;
  a_town(w);
  expect_tools(arrives(w, MODE_SERVERS), "list_servers get_server_tools execute_tool");
}

static void mode_servers_names_the_servers_and_shows_their_tools(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  t.bank->instructions = STR("\nPays bills.\nMore of it.");
  struct agent *a = arrives(w, MODE_SERVERS);
  const struct json *m = uses(a, "list_servers", "{}");
  expect_text(m, "{'name':'shop','description':'Goods of all sorts'}");
  expect_text(m, "{'name':'bank','description':'Pays bills.'}");
  m = uses(a, "get_server_tools", "{'server':'shop'}");
  expect_text(m, "'name':'find'");
  expect_text(m, "'required':['q']");
  expect_fault(uses(a, "get_server_tools", "{'server':'park'}"), "SERVER_UNAVAILABLE");
}

static void mode_servers_refuses_what_is_not_there_with_its_own_codes(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  struct agent *a = arrives(w, MODE_SERVERS);
  expect_fault(calls(a, "shop:fnd", "{}"), "TOOL_NOT_FOUND");
  expect_fault(calls(a, "park:walk", "{}"), "SERVER_UNAVAILABLE");
  expect_part(uses(a, "find", "{'q':'x'}"), "'code':-32602");
  expect_called(t.shop, "");
}

static void with_debug_mode_servers_tells_how_the_servers_are(void **state) {
  struct world *w = *state;
  given(w, "debug: true\n");
  struct town t = a_town(w);
  struct agent *a = arrives(w, MODE_SERVERS);
  expect_tools(a, "list_servers get_server_tools execute_tool get_gateway_status");
  calls(a, "bank:pay", "{}");
  expect_text(uses(a, "get_gateway_status", "{}"), "bank");
  expect_called(t.bank, "pay {}\n");
}

// ---- rules

#define RULES "{'agents':{'buyer':{'allow':{'servers':['shop'],'tools':{'shop':['find']}}}}}"

static void no_mode_shows_what_the_rules_hide(void **state) {
  struct world *w = *state;
  given_rules(w, RULES);
  struct town t = a_town(w);
  has_tool(t.shop, "{'name':'hidden'," ANYTHING "}");
  struct agent *gateway = arrives_as(w, MODE_GATEWAY, "buyer"), *direct = arrives_as(w, MODE_DIRECT, "buyer"),
               *servers = arrives_as(w, MODE_SERVERS, "buyer"), *plain = arrives_as(w, MODE_TRANSPARENT, "buyer");
  const struct json *m = uses(gateway, "tool_browse", "{'path':'/'}");
  expect_text(m, "/shop");
  expect_no_part(m, "bank");
  expect_no_part(uses(gateway, "tool_browse", "{'path':'/shop'}"), "hidden");
  expect_tools(direct, "find");
  assert_false(contains(tools_of(plain), STR("hidden")) || contains(tools_of(plain), STR("pay")));
  expect_no_part(uses(servers, "list_servers", "{}"), "bank");
  expect_no_part(uses(servers, "get_server_tools", "{'server':'shop'}"), "hidden");
  expect_fault(uses(servers, "get_server_tools", "{'server':'bank'}"), "DENIED_BY_POLICY");
}

// ---- changes

static void an_agent_is_told_that_its_list_has_changed(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  struct agent *direct = arrives(w, MODE_DIRECT), *gateway = arrives(w, MODE_GATEWAY);
  expect_tools(direct, "find pay");
  has_tool(t.bank, "{'name':'lend','description':'Lend money.'," ANYTHING "}");
  says(t.bank, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
  pass(w, 1000);
  assert_non_null(heard(direct, "notifications/tools/list_changed"));
  expect_tools(direct, "find pay lend");
  expect_text(uses(gateway, "tool_browse", "{'path':'/bank'}"), "bank:lend#");
  expect_text(calls(direct, "bank:lend", "{}"), "ok");
}

static void with_other_rules_an_agent_that_sees_less_is_told(void **state) {
  struct world *w = *state;
  given_rules(w, "{'agents':{'buyer':{'allow':{'servers':['*'],'tools':{'*':['*']}}},"
                 "'other':{'allow':{'servers':['shop'],'tools':{'shop':['find']}}}}}");
  a_town(w);
  struct agent *a = arrives_as(w, MODE_DIRECT, "buyer"), *b = arrives_as(w, MODE_DIRECT, "other");
  expect_tools(a, "find pay");
  expect_tools(b, "find");
  takes_rules(w, "{'agents':{'buyer':{'allow':{'servers':['shop'],'tools':{'shop':['find']}}},"
                 "'other':{'allow':{'servers':['shop'],'tools':{'shop':['find']}}}}}");
  pass(w, 1000);
  assert_non_null(heard(a, "notifications/tools/list_changed"));
  assert_null(heard(b, "notifications/tools/list_changed"));
  expect_tools(a, "find");
}

// ---- servers that start

static void a_list_waits_for_servers_that_are_starting(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  t.bank->starts_slowly = true;
  struct agent *a = arrives(w, MODE_DIRECT);
  uint64_t id = sends(a, "tools/list", NULL);
  pass(w, 1000);
  assert_false(is_answered(a, id));
  opens(t.bank);
  expect_part(hears(a, id), "'name':'pay'");
}

static void a_list_does_not_wait_for_longer_than_start_wait(void **state) {
  struct world *w = *state;
  struct town t = a_town(w);
  t.bank->starts_slowly = true;
  struct agent *a = arrives(w, MODE_DIRECT);
  uint64_t id = sends(a, "tools/list", NULL);
  pass(w, 3100);
  const struct json *m = hears(a, id);
  expect_part(m, "'name':'find'");
  expect_no_part(m, "'name':'pay'");
  opens(t.bank);
  pass(w, 1000);
  assert_non_null(heard(a, "notifications/tools/list_changed"));
  expect_tools(a, "find pay");
}

static size_t count_of_notified(struct agent **agents, size_t count) {
  size_t notified = 0;
  for (size_t i = 0; i < count; i++) notified += heard(agents[i], "notifications/tools/list_changed") != NULL;
  return notified;
}

static void many_clients_are_notified_in_slices(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "shop", NULL);
  struct agent *agents[MAX_AGENTS - 1];
  size_t count = MAX_AGENTS - 1;
  has_tool(shop, "{'name':'buy','inputSchema':{'type':'object'}}");
  arrives(w, MODE_DIRECT);  // before the server has listed: it is notified of the first list
  for (size_t i = 0; i < count; i++) agents[i] = arrives(w, MODE_DIRECT);
  assert_int_equal(count_of_notified(agents, count), 0);
  has_tool(shop, "{'name':'sell','inputSchema':{'type':'object'}}");
  w->tick = 1;  // a client takes a millisecond, a slice two
  says(shop, "{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
  while (count_of_notified(agents, count) == 0) pass(w, 1);
  assert_in_range(count_of_notified(agents, count), 1, count - 1);
  assert_true(timer_running(&w->gateway.surface->changes));
  leaves(agents[count - 1]);
  w->tick = 0;
  pass(w, 100);
  assert_int_equal(count_of_notified(agents, count - 1), count - 1);
  assert_false(timer_running(&w->gateway.surface->changes));
}

int main(void) {
#define TEST(name) IN_A_WORLD(name)
  const struct CMUnitTest tests[] = {
      TEST(a_call_has_the_same_result_in_every_mode),
      TEST(agents_of_all_modes_share_one_gateway),
      TEST(wrong_arguments_are_told_in_the_form_of_the_mode),
      TEST(a_timeout_is_told_in_the_form_of_the_mode),
      TEST(a_method_that_nobody_has_is_not_found),
      TEST(mode_gateway_has_meta_tools_and_no_tool_of_a_server),
      TEST(mode_gateway_has_meta_tools_for_resources_and_prompts_if_there_are_any),
      TEST(a_search_returns_cards_with_ids_that_can_be_called),
      TEST(a_path_leads_from_the_servers_to_their_tools),
      TEST(a_meta_tool_takes_no_arguments_that_it_does_not_have),
      TEST(a_tool_of_a_server_is_not_called_by_its_name_in_mode_gateway),
      TEST(a_name_that_two_servers_have_is_told_apart_by_its_server),
      TEST(mode_transparent_lists_every_tool_without_its_schema),
      TEST(a_tool_of_mode_transparent_is_hydrated_and_called_by_its_listed_name),
      TEST(mode_direct_lists_everything_as_the_servers_do),
      TEST(names_that_clash_get_the_name_of_their_server),
      TEST(in_mode_direct_long_lists_have_pages),
      TEST(a_result_of_mode_direct_is_byte_for_byte_the_servers),
      TEST(mode_servers_lists_three_tools_for_everybody),
      TEST(mode_servers_names_the_servers_and_shows_their_tools),
      TEST(mode_servers_refuses_what_is_not_there_with_its_own_codes),
      TEST(with_debug_mode_servers_tells_how_the_servers_are),
      TEST(no_mode_shows_what_the_rules_hide),
      TEST(an_agent_is_told_that_its_list_has_changed),
      TEST(with_other_rules_an_agent_that_sees_less_is_told),
      TEST(a_list_waits_for_servers_that_are_starting),
      TEST(a_list_does_not_wait_for_longer_than_start_wait),
      cmocka_unit_test_setup_teardown(many_clients_are_notified_in_slices, begin_world, end_world),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
