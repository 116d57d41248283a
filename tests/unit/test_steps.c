// SPDX-License-Identifier: Apache-2.0
// The steps of a call (the table in call/pipeline.c), one after the other: what passes each, what it refuses with which
// fault, and that a call that was refused does not reach its server.
#include "gateway_world.h"

#define ANYTHING "'inputSchema':{'type':'object'}"

// One server with a tool that only reads, one that says nothing of itself, and one that destroys.
static struct server *a_shop(struct world *w, const char *members) {
  struct server *s = serves(w, "shop", members);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object','properties':"
              "{'q':{'type':'string'},'n':{'type':'integer'}},'required':['q']},'annotations':{'readOnlyHint':true}}");
  has_tool(s, "{'name':'order','description':'Order goods.'," ANYTHING "}");
  has_tool(s, "{'name':'wipe','description':'Remove all goods.'," ANYTHING ",'annotations':{'destructiveHint':true}}");
  return s;
}

// ---- chain

static void a_call_that_comes_back_to_its_own_gateway_is_refused(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  str params = arena_printf(&w->arena, "{'name':'order','arguments':{},'_meta':{'toolgate/chain':'%s'}}",
                            w->gateway.chain.self.id);
  const struct json *m = asks(a, "tools/call", params.p);
  expect_fault(m, "UPSTREAM_ERROR");
  expect_part(m, "this is a loop");
  expect_called(shop, "");
}

static void a_call_through_another_gateway_goes_on_with_both_in_its_chain(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  const char *params = "{'name':'order','arguments':{},'_meta':{'toolgate/chain':'aaaaaaaaaaaaaaaa'}}";
  expect_text(asks(a, "tools/call", params), "ok");
  expect_called(shop, "order {}\n");
  str both = arena_printf(&w->arena, "aaaaaaaaaaaaaaaa,%s", w->gateway.chain.self.id);
  assert_true(contains(shop->request, both));
}

static void a_call_through_too_many_gateways_is_refused(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  const char *params = "{'name':'order','arguments':{},'_meta':{'toolgate/chain':'aaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbb,"
                       "cccccccccccccccc,dddddddddddddddd'}}";
  const struct json *m = asks(a, "tools/call", params);
  expect_fault(m, "UPSTREAM_ERROR");
  expect_part(m, "more than 4 gateways in a row");
  expect_called(shop, "");
}

// ---- identify

#define RULES "{'agents':{'buyer':{'allow':{'servers':['shop'],'tools':{'shop':['find']}}}}}"

static void with_rules_an_agent_that_is_not_known_is_refused(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  given_rules(w, RULES);
  expect_fault(calls(arrives(w, MODE_DIRECT), "shop:find", "{'q':'x'}"), "INVALID_AGENT_ID");
  expect_fault(calls(arrives_as(w, MODE_DIRECT, "foreign_user"), "shop:find", "{'q':'x'}"), "INVALID_AGENT_ID");
  expect_fault(calls(arrives(w, MODE_SERVERS), "shop:find", "{'q':'x'}"), "INVALID_AGENT_ID");
  expect_called(shop, "");
}

static void a_credential_or_an_agent_id_says_who_calls(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  given_rules(w, RULES);
  expect_text(calls(arrives_as(w, MODE_DIRECT, "buyer"), "shop:find", "{'q':'x'}"), "ok");
  expect_text(calls_with(arrives(w, MODE_SERVERS), "shop:find", "{'q':'y'}", "'agent_id':'buyer'"), "ok");
  expect_called(shop, "find {'q':'x'}\nfind {'q':'y'}\n");
}

static void a_credential_of_one_agent_does_not_act_as_another(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  given_rules(w, "{'agents':{'buyer':{'allow':{'servers':['*']}},'boss':{'allow':{'servers':['*']}}}}");
  struct agent *a = arrives_as(w, MODE_SERVERS, "buyer");
  expect_fault(calls_with(a, "shop:find", "{'q':'x'}", "'agent_id':'boss'"), "INVALID_AGENT_ID");
  expect_called(shop, "");
}

// ---- wish

static void a_call_ends_when_its_caller_wants_no_longer_to_wait(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  holds(shop);
  uint64_t id = begins_with(a, "shop:order", "{}", "'timeout_ms':500");
  pass(w, 490);
  assert_false(is_answered(a, id));
  pass(w, 30);
  expect_fault(hears(a, id), "UPSTREAM_TIMEOUT");
  expect_called(shop, "order {}\ncancelled order\n");
}

static void a_deadline_is_only_ever_shorter_than_what_the_operator_allows(void **state) {
  struct world *w = *state;
  given(w, "timeouts: {request: 1}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  holds(shop);
  uint64_t id = begins_with(a, "shop:order", "{}", "'timeout_ms':30000");
  pass(w, 1020);
  expect_fault(hears(a, id), "UPSTREAM_TIMEOUT");
  expect_called(shop, "order {}\ncancelled order\n");
}

static void a_wish_in_meta_counts_in_every_mode_and_stays_here(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  holds(shop);
  uint64_t id = begins_with(a, "shop:order", "{}", "'_meta':{'toolgate/timeoutMs':500,'other':1}");
  assert_false(contains(shop->request, STR("toolgate/timeoutMs")));
  assert_true(contains(shop->request, STR("\"other\":1")));
  pass(w, 520);
  expect_fault(hears(a, id), "UPSTREAM_TIMEOUT");
}

static void a_wish_that_cannot_be_read_is_refused(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  expect_fault(calls_with(a, "shop:order", "{}", "'_meta':{'toolgate/timeoutMs':0}"), "ARGS_INVALID");
  expect_fault(calls_with(a, "shop:order", "{}", "'_meta':{'toolgate/dryRun':'yes'}"), "ARGS_INVALID");
  expect_fault(calls_with(arrives(w, MODE_GATEWAY), "shop:order", "{}", "'timeout_ms':-1"), "ARGS_INVALID");
  expect_called(shop, "");
}

static void a_dry_run_is_possible_for_tools_only(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  has_resource(shop, "{'uri':'shop://list','name':'list'}");
  struct agent *a = arrives(w, MODE_DIRECT);
  expect_fault(asks(a, "resources/read", "{'uri':'shop://list','_meta':{'toolgate/dryRun':true}}"), "ARGS_INVALID");
  expect_called(shop, "");
}

// ---- find

static void a_tool_that_does_not_exist_is_not_found_and_another_is_suggested(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  const struct json *m = calls(a, "shop:ordr", "{}");
  expect_fault(m, "TOOL_NOT_FOUND");
  expect_words(m, "did you mean \\'shop:order#");
  expect_called(shop, "");
}

static void a_tool_that_is_switched_off_is_not_found(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "'disabledTools':['wi*']");
  struct agent *a = arrives(w, MODE_DIRECT);
  expect_part(calls(a, "shop:wipe", "{}"), "'code':-32602");
  expect_text(calls(a, "shop:order", "{}"), "ok");
  expect_called(shop, "order {}\n");
}

static void of_two_servers_the_one_that_has_the_tool_is_called(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL), *bank = serves(w, "bank", NULL);
  has_tool(bank, "{'name':'pay'," ANYTHING "}");
  struct agent *a = arrives(w, MODE_DIRECT);
  expect_text(calls(a, "bank:pay", "{}"), "ok");
  expect_called(bank, "pay {}\n");
  expect_called(shop, "");
}

static void a_call_waits_for_a_server_that_is_starting_and_may_have_the_tool(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  shop->starts_slowly = true;
  struct agent *a = arrives(w, MODE_DIRECT);
  uint64_t id = begins(a, "shop:order", "{}");
  assert_false(is_answered(a, id));
  opens(shop);
  expect_text(hears(a, id), "ok");
  expect_called(shop, "order {}\n");
}

static void a_server_that_starts_for_too_long_is_named_in_the_fault(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  shop->starts_slowly = true;
  struct agent *a = arrives(w, MODE_DIRECT);
  uint64_t id = begins(a, "shop:order", "{}");
  pass(w, 3100);  // timeouts.start_wait
  const struct json *m = hears(a, id);
  expect_fault(m, "UPSTREAM_UNAVAILABLE");
  expect_part(m, "servers are still starting: shop");
  expect_part(m, "'retry_after':2");
  expect_called(shop, "");
}

static void resources_and_prompts_are_found_too(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  has_resource(shop, "{'uri':'shop://list','name':'list'}");
  has_prompt(shop, "{'name':'greet'}");
  struct agent *a = arrives(w, MODE_DIRECT);
  expect_part(asks(a, "resources/read", "{'uri':'shop://list'}"), "'text':'ok'");
  expect_part(asks(a, "prompts/get", "{'name':'greet'}"), "'text':'ok'");
  expect_part(asks(a, "resources/read", "{'uri':'shop://none'}"), "'code':-32002");
  expect_part(asks(a, "prompts/get", "{'name':'none'}"), "'code':-32602");
  expect_called(shop, "shop://list\ngreet\nshop://none\n");
}

static void a_long_name_that_is_not_found_is_cut_between_characters(void **state) {
  struct world *w = *state;
  a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  char name[256], shown[256];
  size_t n = 1;
  name[0] = 'x';
  for (; n < 200; n += 2) memcpy(name + n, "\xc3\xa9", 3);
  snprintf(shown, sizeof shown, "Unknown prompt: %.159s'", name);
  expect_part(asks(a, "prompts/get", arena_printf(&w->arena, "{'name':'%s'}", name).p), shown);
}

// ---- policy

static void what_the_rules_hide_is_not_found(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  given_rules(w, RULES);
  struct agent *a = arrives_as(w, MODE_GATEWAY, "buyer"), *b = arrives_as(w, MODE_DIRECT, "buyer");
  expect_fault(calls(a, "shop:order", "{}"), "TOOL_NOT_FOUND");
  expect_part(calls(b, "shop:order", "{}"), "Unknown tool");
  expect_called(shop, "");
  expect_text(calls(a, "shop:find", "{'q':'x'}"), "ok");
  expect_called(shop, "find {'q':'x'}\n");
}

static void in_mode_servers_the_rule_that_denies_is_named(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  given_rules(w, "{'agents':{'buyer':{'allow':{'servers':['shop']},'deny':{'tools':{'shop':['order']}}}}}");
  struct agent *a = arrives_as(w, MODE_SERVERS, "buyer");
  const struct json *m = calls(a, "shop:order", "{}");
  expect_fault(m, "DENIED_BY_POLICY");
  expect_words(m, "agents.buyer.deny.tools.shop[0]");
  expect_called(shop, "");
}

static void rules_that_change_count_from_the_next_call_on(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  given_rules(w, "{'agents':{'buyer':{'allow':{'servers':['shop'],'tools':{'shop':['*']}}}}}");
  struct agent *a = arrives_as(w, MODE_SERVERS, "buyer");
  holds(shop);
  uint64_t id = begins(a, "shop:order", "{}");
  takes_rules(w, RULES);
  expect_fault(calls(a, "shop:order", "{}"), "DENIED_BY_POLICY");
  releases(shop, "done");
  expect_text(hears(a, id), "done");
  expect_called(shop, "order {}\n");
}

// ---- mirror

static void an_argument_must_be_repeated_in_its_header(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "shop", NULL);
  has_tool(shop, "{'name':'buy','inputSchema':{'type':'object','properties':{'region':{'type':'string',"
                 "'x-mcp-header':'Region'}}}}");
  struct agent *a = arrives(w, MODE_DIRECT);
  struct request_param_header header = {STR("region"), STR("north")};
  a->by_http = true;
  expect_part(calls(a, "shop:buy", "{'region':'north'}"), "Mcp-Param-Region is missing");
  a->param_headers = &header;
  a->param_header_count = 1;
  expect_part(calls(a, "shop:buy", "{'region':'south'}"), "differs from the arguments");
  expect_part(calls(a, "shop:buy", "{}"), "repeats an argument that is missing");
  expect_called(shop, "");
  expect_text(calls(a, "shop:buy", "{'region':'north'}"), "ok");
  expect_called(shop, "buy {'region':'north'}\n");
}

// ---- repair

static void text_becomes_the_number_that_the_schema_wants(void **state) {
  struct world *w = *state;
  given(w, "tolerant_args: true\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  const struct json *m = calls(a, "shop:find", "{'q':'x','n':' 42 '}");
  expect_text(m, "ok");
  expect_part(m, "str_to_integer");  // step note
  expect_called(shop, "find {'q':'x','n':42}\n");
}

static void arguments_that_are_text_become_the_object_in_it(void **state) {
  struct world *w = *state;
  given(w, "tolerant_args: true\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_text(calls(a, "shop:find", "'{\\'q\\':\\'x\\'}'"), "ok");
  expect_called(shop, "find {'q':'x'}\n");
  expect_fault(calls(a, "shop:find", "'nothing'"), "ARGS_INVALID");
  expect_called(shop, "");
}

static void without_tolerant_args_nothing_is_repaired(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_fault(calls(a, "shop:find", "{'q':'x','n':'42'}"), "ARGS_INVALID");
  expect_fault(calls(a, "shop:find", "'{}'"), "ARGS_INVALID");
  expect_called(shop, "");
}

// ---- schema

static void arguments_against_the_schema_are_refused_with_every_error(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  const struct json *m = calls(a, "shop:find", "{'n':'many'}");
  expect_fault(m, "ARGS_INVALID");
  expect_part(m, "'code':-32602");
  expect_part(m, "{'pointer':'','keyword':'required'");
  expect_part(m, "{'pointer':'/n','keyword':'type'");
  expect_part(m, "'schema':{'type':'object'");
  expect_called(shop, "");
}

static void in_mode_direct_null_stands_for_an_argument_that_is_not_given(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  expect_text(calls(arrives(w, MODE_DIRECT), "shop:find", "{'q':'x','n':null}"), "ok");
  expect_called(shop, "find {'q':'x','n':null}\n");
  expect_fault(calls(arrives(w, MODE_DIRECT), "shop:find", "{'q':null}"), "ARGS_INVALID");
  expect_fault(calls(arrives(w, MODE_GATEWAY), "shop:find", "{'q':'x','n':null}"), "ARGS_INVALID");
  expect_called(shop, "");
}

static void a_tool_whose_schema_cannot_be_used_cannot_be_called(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "shop", NULL);
  has_tool(shop, "{'name':'odd','inputSchema':{'type':'object','properties':{'a':{'type':'strange'}}}}");
  const struct json *m = calls(arrives(w, MODE_GATEWAY), "shop:odd", "{}");
  expect_fault(m, "SCHEMA_INVALID");
  expect_words(m, "/properties/a/type");
  expect_called(shop, "");
}

// ---- quota

static void one_call_too_many_in_a_minute_is_refused_until_the_minute_is_over(void **state) {
  struct world *w = *state;
  given(w, "rate_limits: {tool_execute: {max_calls_per_minute: 2}}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_text(calls(a, "shop:order", "{'n':1}"), "ok");
  pass(w, 20000);
  expect_text(calls(a, "shop:order", "{'n':2}"), "ok");
  const struct json *m = calls(a, "shop:order", "{'n':3}");
  expect_fault(m, "RATE_LIMITED");
  expect_words(m, "\"scope\":\"tool_execute/minute\",\"retry_after\":40");
  expect_called(shop, "order {'n':1}\norder {'n':2}\n");
  pass(w, 40000);
  expect_text(calls(a, "shop:order", "{'n':4}"), "ok");
  expect_fault(calls(a, "shop:order", "{'n':5}"), "RATE_LIMITED");
  expect_called(shop, "order {'n':4}\n");
}

static void a_limit_of_a_session_does_not_pass_and_is_its_own(void **state) {
  struct world *w = *state;
  given(w, "rate_limits: {tools: {\"shop:order*\": {max_calls_per_session: 1}}}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT), *b = arrives(w, MODE_DIRECT);
  expect_text(calls(a, "shop:order", "{}"), "ok");
  pass(w, 3600000);
  expect_fault(calls(a, "shop:order", "{}"), "RATE_LIMITED");
  expect_called(shop, "order {}\n");
  expect_text(calls(a, "shop:wipe", "{}"), "ok");
  expect_text(calls(b, "shop:order", "{}"), "ok");
  expect_called(shop, "wipe {}\norder {}\n");
}

static void calls_with_wrong_arguments_do_not_count(void **state) {
  struct world *w = *state;
  given(w, "rate_limits: {tool_execute: {max_calls_per_session: 1}}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_fault(calls(a, "shop:find", "{}"), "ARGS_INVALID");
  expect_text(calls(a, "shop:find", "{'q':'x'}"), "ok");
  expect_fault(calls(a, "shop:find", "{'q':'x'}"), "RATE_LIMITED");
  expect_called(shop, "find {'q':'x'}\n");
}

static void a_principal_has_an_allowance_over_all_its_sessions(void **state) {
  struct world *w = *state;
  given(w, "rate_limits: {principal: {max_requests_per_minute: 2}}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT), *b = arrives(w, MODE_DIRECT);
  expect_text(calls(a, "shop:order", "{}"), "ok");
  expect_text(calls(b, "shop:order", "{}"), "ok");
  const struct json *m = calls(a, "shop:order", "{}");
  expect_fault(m, "RATE_LIMITED");
  expect_part(m, "'scope':'principal/requests'");
  expect_called(shop, "order {}\norder {}\n");
  pass(w, 61000);
  expect_text(calls(a, "shop:order", "{}"), "ok");
}

// ---- rehearse

static void a_dry_run_reports_what_would_be_called_and_calls_nothing(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  const struct json *m = calls_with(a, "shop:wipe", "{}", "'dry_run':true");
  expect_text(m, "'dry_run':true");
  expect_text(m, "'upstream_name':'wipe'");
  expect_text(m, "'destructiveHint':true,'verified':false");
  expect_fault(calls_with(a, "shop:find", "{}", "'dry_run':true"), "ARGS_INVALID");
  expect_text(calls_with(arrives(w, MODE_DIRECT), "shop:wipe", "{}", "'_meta':{'toolgate/dryRun':true}"), "wipe");
  expect_called(shop, "");
}

static void a_dry_run_does_not_count_and_says_that_the_call_would_be_too_many(void **state) {
  struct world *w = *state;
  given(w, "rate_limits: {tool_execute: {max_calls_per_session: 1}}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  expect_text(calls_with(a, "shop:order", "{}", "'dry_run':true"), "{'name':'rate_limit','status':'pass'}");
  expect_text(calls(a, "shop:order", "{}"), "ok");
  expect_text(calls_with(a, "shop:order", "{}", "'dry_run':true"), "{'name':'rate_limit','status':'fail'}");
  expect_called(shop, "order {}\n");
}

static void a_dry_run_needs_no_server_that_is_up(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  shop->starts_slowly = true;
  ends(shop);
  expect_text(calls_with(a, "shop:wipe", "{}", "'dry_run':true"), "'dry_run':true");
}

// ---- recall, remember

#define REMEMBER "cache: {read_only: true, ttl: 60}\n"

static void a_repeated_call_that_only_reads_is_answered_from_the_cache(void **state) {
  struct world *w = *state;
  given(w, REMEMBER);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  answers(shop, "first");
  expect_no_part(calls(a, "shop:find", "{'q':'x','n':1}"), "cache_hit");
  const struct json *m = calls(a, "shop:find", "{'n':1,'q':'x'}");
  expect_text(m, "first");
  expect_part(m, "'cache_hit':true");
  expect_called(shop, "find {'q':'x','n':1}\n");
  expect_text(calls(a, "shop:find", "{'q':'y','n':1}"), "ok");
  expect_called(shop, "find {'q':'y','n':1}\n");
}

static void a_remembered_result_is_forgotten_after_its_time(void **state) {
  struct world *w = *state;
  given(w, REMEMBER);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  calls(a, "shop:find", "{'q':'x'}");
  pass(w, 59900);
  calls(a, "shop:find", "{'q':'x'}");
  expect_called(shop, "find {'q':'x'}\n");
  pass(w, 200);
  calls(a, "shop:find", "{'q':'x'}");
  expect_called(shop, "find {'q':'x'}\n");
}

static void what_may_change_something_or_failed_is_not_remembered(void **state) {
  struct world *w = *state;
  given(w, REMEMBER);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  for (int i = 0; i < 2; i++) calls(a, "shop:order", "{}");
  expect_called(shop, "order {}\norder {}\n");
  reports(shop, "no goods");
  fails(shop, -32603, "broken", NULL);
  for (int i = 0; i < 3; i++) calls(a, "shop:find", "{'q':'x'}");
  expect_called(shop, "find {'q':'x'}\nfind {'q':'x'}\nfind {'q':'x'}\n");
}

static void another_agent_does_not_get_a_remembered_result(void **state) {
  struct world *w = *state;
  given(w, REMEMBER);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives_as(w, MODE_DIRECT, "one"), *b = arrives_as(w, MODE_DIRECT, "other");
  answers(shop, "of one");
  answers(shop, "of the other");
  expect_text(calls(a, "shop:find", "{'q':'x'}"), "of one");
  expect_text(calls(b, "shop:find", "{'q':'x'}"), "of the other");
  expect_text(calls(a, "shop:find", "{'q':'x'}"), "of one");
  expect_called(shop, "find {'q':'x'}\nfind {'q':'x'}\n");
}

static void a_remembered_answer_counts_for_rate_limits(void **state) {
  struct world *w = *state;
  given(w, REMEMBER "rate_limits: {tool_execute: {max_calls_per_session: 2}}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  calls(a, "shop:find", "{'q':'x'}");
  calls(a, "shop:find", "{'q':'x'}");
  expect_fault(calls(a, "shop:find", "{'q':'x'}"), "RATE_LIMITED");
  expect_called(shop, "find {'q':'x'}\n");
}

// ---- connect

static void a_call_waits_until_its_connection_is_open_again(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  shop->starts_slowly = true;
  ends(shop);
  pass(w, 300);  // it is started again after a quarter of a second
  uint64_t id = begins(a, "shop:order", "{}");
  pass(w, 100);
  assert_false(is_answered(a, id));
  opens(shop);
  expect_text(hears(a, id), "ok");
  expect_called(shop, "order {}\n");
  assert_int_equal(shop->connections, 2);
}

static void a_call_of_a_server_that_is_down_fails_at_once_and_says_when_to_try_again(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  shop->starts_slowly = true;
  ends(shop);
  const struct json *m = calls(a, "shop:order", "{}");
  expect_fault(m, "UPSTREAM_UNAVAILABLE");
  expect_words(m, "\"retry_after\":0.2");
  expect_called(shop, "");
}

static void a_connection_that_does_not_open_in_the_time_of_a_call_fails_it(void **state) {
  struct world *w = *state;
  given(w, "timeouts: {request: 2, start: 30}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  shop->starts_slowly = true;
  ends(shop);
  pass(w, 300);
  uint64_t id = begins(a, "shop:order", "{}");
  pass(w, 1900);
  assert_false(is_answered(a, id));
  pass(w, 200);
  expect_fault(hears(a, id), "UPSTREAM_UNAVAILABLE");
  expect_called(shop, "");
}

static void agents_do_not_share_a_connection(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives_as(w, MODE_DIRECT, "one"), *b = arrives_as(w, MODE_DIRECT, "other");
  unsigned before = shop->connections;
  calls(a, "shop:order", "{}");
  calls(a, "shop:order", "{}");
  calls(b, "shop:order", "{}");
  assert_in_range(shop->connections, before + 1, before + 2);  // one may take over the one that was opened ahead
  expect_called(shop, "order {}\norder {}\norder {}\n");
}

// ---- turn

static void calls_beyond_what_a_connection_takes_wait_for_their_turn(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "'maxInFlight':1");
  struct agent *a = arrives(w, MODE_DIRECT);
  holds(shop);
  uint64_t first = begins(a, "shop:order", "{'n':1}"), second = begins(a, "shop:order", "{'n':2}");
  expect_called(shop, "order {'n':1}\n");
  releases(shop, "done");
  expect_text(hears(a, first), "done");
  expect_text(hears(a, second), "ok");
  expect_called(shop, "order {'n':2}\n");
}

static void agents_take_turns(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "'maxInFlight':1,'isolation':'shared'");
  struct agent *a = arrives(w, MODE_DIRECT), *b = arrives_as(w, MODE_DIRECT, "other");
  holds(shop);
  uint64_t ids[] = {begins(a, "shop:order", "{'n':1}"), begins(a, "shop:order", "{'n':2}"),
                    begins(a, "shop:order", "{'n':3}")};
  uint64_t of_b = begins(b, "shop:order", "{'n':4}");
  releases(shop, "done");
  hears(b, of_b);
  for (size_t i = 0; i < 3; i++) hears(a, ids[i]);
  expect_called(shop, "order {'n':1}\norder {'n':2}\norder {'n':4}\norder {'n':3}\n");
}

static void one_too_many_in_the_queue_is_refused(void **state) {
  struct world *w = *state;
  given(w, "limits: {server_in_flight: 1, server_queue: 1}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  holds(shop);
  uint64_t first = begins(a, "shop:order", "{'n':1}"), second = begins(a, "shop:order", "{'n':2}");
  const struct json *m = calls(a, "shop:order", "{'n':3}");
  expect_fault(m, "RATE_LIMITED");
  expect_part(m, "limits.server_queue");
  releases(shop, "done");
  hears(a, first);
  hears(a, second);
  expect_called(shop, "order {'n':1}\norder {'n':2}\n");
}

static void a_call_that_gets_no_turn_in_time_fails_and_is_not_sent(void **state) {
  struct world *w = *state;
  given(w, "timeouts: {request: 5}\n");
  struct server *shop = a_shop(w, "'maxInFlight':1,'toolTimeouts':{'wipe':60000}");
  struct agent *a = arrives(w, MODE_DIRECT);
  holds(shop);
  uint64_t first = begins(a, "shop:wipe", "{}"), second = begins(a, "shop:order", "{}");
  pass(w, 5100);
  const struct json *m = hears(a, second);
  expect_fault(m, "UPSTREAM_TIMEOUT");
  expect_part(m, "waited too long");
  releases(shop, "done");
  expect_text(hears(a, first), "done");
  expect_called(shop, "wipe {}\n");
}

// ---- dispatch

static void a_call_that_is_not_answered_in_time_is_cancelled(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, "'timeout':2000,'toolTimeouts':{'ord*':5000}");
  struct agent *a = arrives(w, MODE_GATEWAY);
  holds(shop);
  holds(shop);
  uint64_t find = begins(a, "shop:find", "{'q':'x'}"), order = begins(a, "shop:order", "{}");
  pass(w, 2100);
  expect_fault(hears(a, find), "UPSTREAM_TIMEOUT");
  assert_false(is_answered(a, order));
  pass(w, 3000);
  const struct json *m = hears(a, order);
  expect_fault(m, "UPSTREAM_TIMEOUT");
  expect_words(m, "toolTimeouts");
  expect_called(shop, "find {'q':'x'}\norder {}\ncancelled find\ncancelled order\n");
}

static void progress_renews_the_time_and_reaches_the_client_under_its_own_token(void **state) {
  struct world *w = *state;
  given(w, "timeouts: {request: 2, request_max: 5}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  holds(shop);
  uint64_t id = begins_with(a, "shop:order", "{}", "'_meta':{'progressToken':'mine'}");
  for (int i = 0; i < 2; i++) {
    pass(w, 1500);
    progresses(shop);
  }
  expect_part(heard(a, "notifications/progress"), "'progressToken':'mine'");
  pass(w, 1500);
  assert_false(is_answered(a, id));
  pass(w, 600);  // request_max, whatever the progress
  expect_fault(hears(a, id), "UPSTREAM_TIMEOUT");
  expect_called(shop, "order {}\ncancelled order\n");
}

static void a_call_whose_connection_is_lost_fails(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  breaks(shop);
  const struct json *m = calls(a, "shop:order", "{}");
  expect_fault(m, "UPSTREAM_UNAVAILABLE");
  expect_words(m, "server \\\"shop\\\"");
  assert_true(str_starts(buf_view(&shop->log), STR("order {}\n")));
}

static void arguments_reach_the_server_as_they_were_written(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  static const enum surface_mode modes[] = {MODE_GATEWAY, MODE_DIRECT, MODE_SERVERS};
  for (size_t i = 0; i < 3; i++) {
    expect_text(calls(arrives(w, modes[i]), "shop:order", "{'b':1.50,'a':[9007199254740993, '\\u00e4']}"), "ok");
    expect_called(shop, "order {'b':1.50,'a':[9007199254740993, '\\u00e4']}\n");
  }
}

// ---- retry

#define RETRY "retry: {max_attempts: 3, base_delay: 0.1, max_delay: 5}\n"

static void a_call_that_only_reads_is_made_again_after_its_connection_was_lost(void **state) {
  struct world *w = *state;
  given(w, RETRY);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  breaks(shop);
  uint64_t id = begins(a, "shop:find", "{'q':'x'}");
  pass(w, 100);
  assert_false(is_answered(a, id));  // the connection itself comes back after 250 ms
  pass(w, 300);
  const struct json *m = hears(a, id);
  expect_text(m, "ok");
  expect_part(m, "'attempts':2");
  expect_called(shop, "find {'q':'x'}\ncancelled find\nfind {'q':'x'}\n");
}

static void a_call_that_may_have_been_carried_out_is_not_made_again(void **state) {
  struct world *w = *state;
  given(w, RETRY);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  breaks(shop);
  expect_fault(calls(a, "shop:order", "{}"), "UPSTREAM_UNAVAILABLE");
  pass(w, 1000);
  breaks(shop);
  expect_fault(calls(a, "shop:wipe", "{}"), "UPSTREAM_UNAVAILABLE");
  pass(w, 1000);
  expect_called(shop, "order {}\ncancelled order\nwipe {}\ncancelled wipe\n");
}

static void with_unsafe_only_what_destroys_is_not_made_again(void **state) {
  struct world *w = *state;
  given(w, "retry: {max_attempts: 2, unsafe: true}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  breaks(shop);
  uint64_t id = begins(a, "shop:order", "{}");
  pass(w, 1000);
  expect_text(hears(a, id), "ok");
  breaks(shop);
  expect_fault(calls(a, "shop:wipe", "{}"), "UPSTREAM_UNAVAILABLE");
  expect_called(shop, "order {}\ncancelled order\norder {}\nwipe {}\ncancelled wipe\n");
}

static void a_call_that_was_not_sent_is_always_made_again(void **state) {
  struct world *w = *state;
  given(w, RETRY);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  ends(shop);
  uint64_t id = begins(a, "shop:wipe", "{}");
  assert_false(is_answered(a, id));
  pass(w, 400);
  expect_text(hears(a, id), "ok");
  expect_called(shop, "wipe {}\n");
}

static void after_the_last_attempt_the_call_fails_and_says_how_many_there_were(void **state) {
  struct world *w = *state;
  given(w, RETRY "timeouts: {request: 1}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  for (int i = 0; i < 3; i++) holds(shop);
  uint64_t id = begins(a, "shop:find", "{'q':'x'}");
  pass(w, 3 * 1000 + 100 + 200 - 50);
  assert_false(is_answered(a, id));
  pass(w, 150);
  const struct json *m = hears(a, id);
  expect_fault(m, "UPSTREAM_TIMEOUT");
  expect_words(m, "\"attempts\":3");
  expect_called(shop, "find {'q':'x'}\ncancelled find\nfind {'q':'x'}\ncancelled find\nfind {'q':'x'}\n"
                      "cancelled find\n");
}

static void an_answer_is_an_answer_whatever_it_says(void **state) {
  struct world *w = *state;
  given(w, RETRY);
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_DIRECT);
  fails(shop, -32000, "the request timed out", NULL);
  reports(shop, "timed out");
  expect_part(calls(a, "shop:find", "{'q':'x'}"), "'code':-32000");
  expect_part(calls(a, "shop:find", "{'q':'x'}"), "'isError':true");
  expect_called(shop, "find {'q':'x'}\nfind {'q':'x'}\n");
}

// ---- classify

static void an_error_of_a_server_is_a_fault_of_a_kind(void **state) {
  static const struct {
    int code;
    const char *message, *data, *fault;
  } rows[] = {
      {-32603, "broken", NULL, "UPSTREAM_ERROR"},
      {-32000, "no", "{'status':401}", "AUTH_FAILED"},
      {-32000, "no", "{'status':403}", "PERMISSION_DENIED"},
      {-32000, "no", "{'statusCode':429}", "RATE_LIMITED"},
      {503, "no", NULL, "UPSTREAM_UNAVAILABLE"},
      {-32000, "the request timed out", NULL, "UPSTREAM_TIMEOUT"},
      {-32000, "got 401 rows", NULL, "UPSTREAM_ERROR"},
      {-32602, "HTTP 401", NULL, "UPSTREAM_ERROR"},
  };
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fails(shop, rows[i].code, rows[i].message, rows[i].data);
    const struct json *m = calls(a, "shop:order", "{}");
    expect_fault(m, rows[i].fault);
    expect_words(m, rows[i].message);
  }
}

static void in_mode_direct_an_error_passes_as_it_is(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  fails(shop, -32042 + 1, "own words", "{'own':[1.50]}");
  expect_part(calls(arrives(w, MODE_DIRECT), "shop:order", "{}"),
              "'error':{'code':-32041,'message':'own words','data':{'own':[1.50]}}");
}

static void a_tool_that_reports_its_own_error_has_a_result(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  reports(shop, "no such goods");
  const struct json *m = calls(arrives(w, MODE_GATEWAY), "shop:order", "{}");
  expect_text(m, "no such goods");
  expect_part(m, "'isError':true");
}

// ---- firewall, store

// A text of this many lines "line N of the list".
static const char *long_text(struct world *w, int lines) {
  struct buf b;
  buf_init(&b, 1 << 20);
  for (int i = 1; i <= lines; i++) buf_printf(&b, "line %d of the list\n", i);
  const char *text = arena_cstr(&w->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

// The first handle that a result names: KIND:TOOL_ID:DIGITS.
static const char *handle_in(struct world *w, const struct json *m) {
  str text = text_of(w, m);
  const char *at = memmem(text.p, text.n, "text:shop:", 10);
  if (!at) fail_msg("no handle: %.*s", STR_ARG(text));
  size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789:#");
  return arena_cstr(&w->arena, (str){at, n});
}

static void a_result_over_the_budget_is_cut_and_the_rest_can_be_viewed(void **state) {
  struct world *w = *state;
  given(w, "result: {budget: 200}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives(w, MODE_GATEWAY);
  answers(shop, long_text(w, 500));
  const struct json *m = calls(a, "shop:order", "{}");
  expect_text(m, "line 1 of the list");
  expect_no_part(m, "line 250 of the list");
  assert_true(text_of(w, m).n < 2000);
  str args =
      arena_printf(&w->arena, "{'handle':'%s','selector':{'type':'lines','start':249,'end':250}}", handle_in(w, m));
  expect_text(uses(a, "tool_view", args.p), "line 250 of the list");
}

static void what_is_kept_for_one_agent_cannot_be_viewed_by_another(void **state) {
  struct world *w = *state;
  given(w, "result: {budget: 200}\n");
  struct server *shop = a_shop(w, NULL);
  struct agent *a = arrives_as(w, MODE_GATEWAY, "one"), *b = arrives_as(w, MODE_GATEWAY, "other");
  answers(shop, long_text(w, 500));
  const char *handle = handle_in(w, calls(a, "shop:order", "{}"));
  str args = arena_printf(&w->arena, "{'handle':'%s','selector':{'type':'head'}}", handle);
  expect_fault(uses(b, "tool_view", args.p), "VIEW_FAILED");
  expect_text(uses(a, "tool_view", args.p), "line 1 of the list");
}

static void in_mode_direct_a_result_is_not_cut(void **state) {
  struct world *w = *state;
  given(w, "result: {budget: 200}\n");
  struct server *shop = a_shop(w, NULL);
  answers(shop, long_text(w, 500));
  expect_text(calls(arrives(w, MODE_DIRECT), "shop:order", "{}"), "line 500 of the list");
}

static void secrets_in_results_are_masked_where_the_operator_wants_it(void **state) {
  struct world *w = *state;
  given(w, "result: {scrub: true}\n");
  struct server *shop = a_shop(w, NULL);
  static const enum surface_mode modes[] = {MODE_GATEWAY, MODE_DIRECT, MODE_SERVERS};
  for (size_t i = 0; i < 3; i++) {
    answers(shop, "the key is ghp_0123456789abcdefghijklmnopqrstuvwxyz.");
    const struct json *m = calls(arrives(w, modes[i]), "shop:order", "{}");
    expect_text(m, "the key is ");
    expect_no_part(m, "ghp_0123456789abcdefghijklmnopqrstuvwxyz");
  }
}

static void hidden_characters_are_removed_from_results(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w, NULL);
  answers(shop, "vis\xe2\x80\x8bible");
  expect_text(calls(arrives(w, MODE_DIRECT), "shop:order", "{}"), "visible");
}

#define TEST(name) IN_A_WORLD(name)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_call_that_comes_back_to_its_own_gateway_is_refused),
      TEST(a_call_through_another_gateway_goes_on_with_both_in_its_chain),
      TEST(a_call_through_too_many_gateways_is_refused),
      TEST(with_rules_an_agent_that_is_not_known_is_refused),
      TEST(a_credential_or_an_agent_id_says_who_calls),
      TEST(a_credential_of_one_agent_does_not_act_as_another),
      TEST(a_call_ends_when_its_caller_wants_no_longer_to_wait),
      TEST(a_deadline_is_only_ever_shorter_than_what_the_operator_allows),
      TEST(a_wish_in_meta_counts_in_every_mode_and_stays_here),
      TEST(a_wish_that_cannot_be_read_is_refused),
      TEST(a_dry_run_is_possible_for_tools_only),
      TEST(a_tool_that_does_not_exist_is_not_found_and_another_is_suggested),
      TEST(a_tool_that_is_switched_off_is_not_found),
      TEST(of_two_servers_the_one_that_has_the_tool_is_called),
      TEST(a_call_waits_for_a_server_that_is_starting_and_may_have_the_tool),
      TEST(a_server_that_starts_for_too_long_is_named_in_the_fault),
      TEST(resources_and_prompts_are_found_too),
      TEST(a_long_name_that_is_not_found_is_cut_between_characters),
      TEST(what_the_rules_hide_is_not_found),
      TEST(in_mode_servers_the_rule_that_denies_is_named),
      TEST(rules_that_change_count_from_the_next_call_on),
      TEST(an_argument_must_be_repeated_in_its_header),
      TEST(text_becomes_the_number_that_the_schema_wants),
      TEST(arguments_that_are_text_become_the_object_in_it),
      TEST(without_tolerant_args_nothing_is_repaired),
      TEST(arguments_against_the_schema_are_refused_with_every_error),
      TEST(in_mode_direct_null_stands_for_an_argument_that_is_not_given),
      TEST(a_tool_whose_schema_cannot_be_used_cannot_be_called),
      TEST(one_call_too_many_in_a_minute_is_refused_until_the_minute_is_over),
      TEST(a_limit_of_a_session_does_not_pass_and_is_its_own),
      TEST(calls_with_wrong_arguments_do_not_count),
      TEST(a_principal_has_an_allowance_over_all_its_sessions),
      TEST(a_dry_run_reports_what_would_be_called_and_calls_nothing),
      TEST(a_dry_run_does_not_count_and_says_that_the_call_would_be_too_many),
      TEST(a_dry_run_needs_no_server_that_is_up),
      TEST(a_repeated_call_that_only_reads_is_answered_from_the_cache),
      TEST(a_remembered_result_is_forgotten_after_its_time),
      TEST(what_may_change_something_or_failed_is_not_remembered),
      TEST(another_agent_does_not_get_a_remembered_result),
      TEST(a_remembered_answer_counts_for_rate_limits),
      TEST(a_call_waits_until_its_connection_is_open_again),
      TEST(a_call_of_a_server_that_is_down_fails_at_once_and_says_when_to_try_again),
      TEST(a_connection_that_does_not_open_in_the_time_of_a_call_fails_it),
      TEST(agents_do_not_share_a_connection),
      TEST(calls_beyond_what_a_connection_takes_wait_for_their_turn),
      TEST(agents_take_turns),
      TEST(one_too_many_in_the_queue_is_refused),
      TEST(a_call_that_gets_no_turn_in_time_fails_and_is_not_sent),
      TEST(a_call_that_is_not_answered_in_time_is_cancelled),
      TEST(progress_renews_the_time_and_reaches_the_client_under_its_own_token),
      TEST(a_call_whose_connection_is_lost_fails),
      TEST(arguments_reach_the_server_as_they_were_written),
      TEST(a_call_that_only_reads_is_made_again_after_its_connection_was_lost),
      TEST(a_call_that_may_have_been_carried_out_is_not_made_again),
      TEST(with_unsafe_only_what_destroys_is_not_made_again),
      TEST(a_call_that_was_not_sent_is_always_made_again),
      TEST(after_the_last_attempt_the_call_fails_and_says_how_many_there_were),
      TEST(an_answer_is_an_answer_whatever_it_says),
      TEST(an_error_of_a_server_is_a_fault_of_a_kind),
      TEST(in_mode_direct_an_error_passes_as_it_is),
      TEST(a_tool_that_reports_its_own_error_has_a_result),
      TEST(a_result_over_the_budget_is_cut_and_the_rest_can_be_viewed),
      TEST(what_is_kept_for_one_agent_cannot_be_viewed_by_another),
      TEST(in_mode_direct_a_result_is_not_cut),
      TEST(secrets_in_results_are_masked_where_the_operator_wants_it),
      TEST(hidden_characters_are_removed_from_results),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
