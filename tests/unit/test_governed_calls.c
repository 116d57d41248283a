// SPDX-License-Identifier: Apache-2.0
// Calls with a governance file: which tools an agent sees, which calls reach their server, and which code the others
// end with. The decisions themselves are tested in test_govern.c.
#include "governed_world.h"

#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}," \
  "{'name':'order','class':'act','approval_mode':'network'}]}]"
#define PERMISSIONS \
  "'permissions':[" \
  "{'permission_id':'p_find','adapter_id':'adp_shop','capability':'find','allow':true}," \
  "{'permission_id':'p_order','adapter_id':'adp_shop','capability':'order','allow':true,'roles':['buyer']," \
  "'arg_constraints':{'amount':{'required':true,'max':100}}}]"
#define CONTEXT "'context':{'agents':{'ann':{'role':'buyer'},'ann.trainee':{'safety_mode':'read_only'},'bob':{}}}"

// A server with three tools; the governance file registers two of them.
static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'order','description':'Order goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'wipe','description':'Remove all goods.','inputSchema':{'type':'object'}}");
  return s;
}

static void without_a_permission_a_tool_does_not_exist_for_the_agent(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *bob = arrives_as(w, MODE_GATEWAY, "bob"), *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_no_part(uses(bob, "tool_browse", "{'query':'goods'}"), "shop:order");
  expect_part(uses(ann, "tool_browse", "{'query':'goods'}"), "shop:order");
  expect_no_part(uses(ann, "tool_browse", "{'query':'goods'}"), "shop:wipe");
  expect_fault(calls(bob, "shop:order", "{'amount':1}"), "TOOL_NOT_FOUND");
  expect_fault(calls(ann, "shop:wipe", "{}"), "TOOL_NOT_FOUND");
  expect_called(shop, "");
}

static void in_mode_direct_the_list_has_the_permitted_tools_only(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *bob = arrives_as(w, MODE_DIRECT, "bob");
  const struct json *list = asks(bob, "tools/list", "{}");
  expect_part(list, "find");
  expect_no_part(list, "order");
  expect_no_part(list, "wipe");
  expect_fault(calls(bob, "shop:order", "{'amount':1}"), "ARGS_INVALID");
  expect_text(calls(bob, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\n");
}

static void in_mode_servers_a_denial_does_not_show_whether_the_tool_is_registered(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *bob = arrives_as(w, MODE_SERVERS, "bob");
  static const char *const tools[] = {"shop:order", "shop:wipe", "shop:none"};  // no permission, no capability, no tool
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
    const struct json *m = calls(bob, tools[i], "{'amount':1}");
    expect_fault(m, "DENIED_BY_POLICY");
    expect_part(m, "\\\"rule\\\":\\\"governance\\\"");
    expect_no_part(m, "governance.");
  }
  expect_called(shop, "");
}

static void methods_outside_of_the_protocol_are_refused_without_rules(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(asks(ann, "vendor/order", "{'name':'order'}"), "DENIED_BY_POLICY");
  expect_called(shop, "");
}

static void arguments_that_are_no_object_do_not_evade_constraints(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "shop", NULL);
  has_tool(shop, "{'name':'find','description':'Find goods.','inputSchema':{}}");
  governed_by(w,
              ADAPTERS "," CONTEXT ",'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find',"
                       "'allow':true,'arg_constraints':{'amount':{'max':100}}}]");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  static const char *const odd[] = {"'{}'", "[500]", "500", "true"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) expect_fault(calls(ann, "shop:find", odd[i]), "ARGS_INVALID");
  expect_text(calls(ann, "shop:find", "{'amount':100}"), "ok");
  expect_called(shop, "find {'amount':100}\n");
}

static void a_tool_whose_every_call_rules_deny_does_not_exist(void **state) {
  struct world *w = *state;
  a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT
                          ",'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':["
                          "{'rule_id':'other','applies_to':{'intent':'other'},'then':{'allow':true}}]}}]");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  const struct json *list = asks(ann, "tools/list", "{}");
  expect_part(list, "find");  // reading needs no rule
  expect_no_part(list, "order");
}

static void arguments_beyond_a_constraint_do_not_reach_the_server(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  const struct json *m = calls(ann, "shop:order", "{'amount':101}");
  expect_fault(m, "ARG_CONSTRAINT_VIOLATION");
  expect_part(m, "'violations':[{'path':'amount','constraint':'max'}]");
  expect_part(m, "governance.permissions[1].arg_constraints.amount");
  expect_part(m, "'decision_id':'pol_");
  expect_fault(calls(ann, "shop:order", "{}"), "ARG_CONSTRAINT_VIOLATION");
  m = calls_with(ann, "shop:order", "{'amount':101}", "'_meta':{'toolgate/dryRun':true}");
  expect_fault(m, "ARG_CONSTRAINT_VIOLATION");
  expect_no_part(m, "decision_id");
  expect_text(calls(ann, "shop:order", "{'amount':100}"), "ok");
  expect_called(shop, "order {'amount':100}\n");
}

static void a_client_can_lower_the_ceiling_of_a_call_but_not_raise_it(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *trainee = arrives_as(w, MODE_DIRECT, "ann.trainee");
  expect_fault(calls_with(ann, "shop:order", "{'amount':1}", "'_meta':{'toolgate/safetyMode':'local_write'}"),
               "MODE_ABOVE_RUN_CEILING");
  expect_fault(calls_with(ann, "shop:order", "{'amount':1}", "'_meta':{'toolgate/safetyMode':'all'}"), "ARGS_INVALID");
  expect_fault(calls_with(ann, "shop:order", "{'amount':1}", "'_meta':{'toolgate/mode':'all'}"), "MODE_INVALID");
  expect_fault(calls_with(ann, "shop:find", "{}", "'_meta':{'toolgate/mode':'network'}"), "MODE_EXCEEDS_MAXIMUM");
  expect_no_part(asks(trainee, "tools/list", "{}"), "order");
  expect_fault(calls_with(trainee, "shop:order", "{'amount':1}", "'_meta':{'toolgate/safetyMode':'destructive'}"),
               "ARGS_INVALID");
  expect_called(shop, "");
}

static void a_server_without_an_adapter_is_hidden_unless_the_file_allows_it(void **state) {
  struct world *w = *state;
  a_shop(w);
  struct server *docs = serves(w, "docs", NULL);
  has_tool(docs, "{'name':'page','description':'Show a page.','inputSchema':{'type':'object'}}");
  has_resource(docs, "{'uri':'docs://list','name':'list'}");
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *bob = arrives_as(w, MODE_DIRECT, "bob");
  expect_no_part(asks(bob, "tools/list", "{}"), "page");
  expect_no_part(asks(bob, "resources/list", "{}"), "docs://list");
  expect_fault(calls(bob, "docs:page", "{}"), "ARGS_INVALID");
  assert_true(is_governed_anew_by(w, ADAPTERS "," PERMISSIONS ",'context':{'unlisted_servers':'allow'}"));
  expect_part(asks(bob, "tools/list", "{}"), "page");
  expect_part(asks(bob, "resources/list", "{}"), "docs://list");
  expect_text(calls(bob, "docs:page", "{}"), "ok");
  expect_called(docs, "page {}\n");
}

static void a_new_file_counts_from_the_next_call_on_and_the_client_is_notified(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  holds(shop);
  uint64_t id = begins(ann, "shop:order", "{'amount':1}");
  assert_true(is_governed_anew_by(w, ADAPTERS "," CONTEXT));
  assert_non_null(heard(ann, "notifications/tools/list_changed"));
  expect_no_part(asks(ann, "tools/list", "{}"), "order");
  expect_fault(calls(ann, "shop:order", "{'amount':1}"), "ARGS_INVALID");
  cancels(ann, id);
  expect_called(shop, "order {'amount':1}\ncancelled order\n");
}

static void a_file_with_an_error_does_not_replace_the_one_in_force(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *bob = arrives_as(w, MODE_DIRECT, "bob");
  assert_false(is_governed_anew_by(w, ADAPTERS ",'permission':[]"));
  expect_fault(calls(bob, "shop:order", "{'amount':1}"), "ARGS_INVALID");
  expect_text(calls(bob, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\n");
}

static void rules_and_governance_must_both_allow(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  given_rules(w, "{'agents':{'ann':{'allow':{'servers':['shop'],'tools':{'shop':['order']}}}}}");
  given(w, "governance: governance.json\n");
  write_governance(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_SERVERS, "ann");
  expect_fault(calls(ann, "shop:find", "{}"), "DENIED_BY_POLICY");
  expect_fault(calls(ann, "shop:order", "{'amount':101}"), "ARG_CONSTRAINT_VIOLATION");
  expect_text(calls(ann, "shop:order", "{'amount':1}"), "ok");
  expect_called(shop, "order {'amount':1}\n");
}

// ---- budgets

#define BUDGET(limits) \
  ADAPTERS "," PERMISSIONS ",'context':{'defaults':{'role':'buyer','budget':{" limits "}},'claims':{'run_id':'rid'}}"
#define RUN(members) "'_meta':{'toolgate/run':{" members "}}"

static void a_run_ends_when_its_number_of_calls_is_used_up(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, BUDGET("'max_calls':2"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *other = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_text(calls(ann, "shop:order", "{'amount':1}"), "ok");
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "RUN_BUDGET_EXCEEDED");
  expect_part(m, "'limit':'max_calls'");
  // Another session is another run.
  expect_text(calls(other, "shop:find", "{}"), "ok");
  expect_called(shop, "find {}\norder {'amount':1}\nfind {}\n");
}

static void denied_calls_and_dry_runs_use_no_budget(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, BUDGET("'max_calls':1"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "shop:order", "{'amount':101}"), "ARG_CONSTRAINT_VIOLATION");
  calls_with(ann, "shop:find", "{}", "'_meta':{'toolgate/dryRun':true}");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_fault(calls(ann, "shop:find", "{}"), "RUN_BUDGET_EXCEEDED");
  expect_called(shop, "find {}\n");
}

static void a_run_ends_with_its_time(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, BUDGET("'max_wall_ms':60000"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  pass(w, 59000);
  holds(shop);
  uint64_t id = begins(ann, "shop:find", "{}");
  pass(w, 2000);  // the call has only the second that is left for the run
  expect_fault(hears(ann, id), "UPSTREAM_TIMEOUT");
  expect_fault(calls(ann, "shop:find", "{}"), "RUN_BUDGET_EXCEEDED");
  expect_called(shop, "find {}\nfind {}\ncancelled find\n");
}

static void a_client_can_give_a_part_of_its_run_a_smaller_budget_only(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, BUDGET("'max_calls':3"));
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls_with(ann, "shop:find", "{}", RUN("'id':'p1','maxCalls':1")), "ok");
  expect_fault(calls_with(ann, "shop:find", "{}", RUN("'id':'p1','maxCalls':1")), "RUN_BUDGET_EXCEEDED");
  expect_text(calls_with(ann, "shop:find", "{}", RUN("'id':'p2','maxCalls':1000000")), "ok");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_fault(calls_with(ann, "shop:find", "{}", RUN("'id':'p3','maxCalls':1000000")), "RUN_BUDGET_EXCEEDED");
  expect_called(shop, "find {}\nfind {}\nfind {}\n");
}

static void a_malformed_run_in_meta_is_refused(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT);
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  static const char *const wrong[] = {
      "'_meta':{'toolgate/run':5}",
      RUN(""),
      RUN("'id':''"),
      RUN("'id':5"),
      RUN("'id':'r','maxCalls':0"),
      RUN("'id':'r','maxCalls':-1"),
      RUN("'id':'r','maxCalls':1.5"),
      RUN("'id':'r','maxCost':-1"),
      RUN("'id':'r','safety_mode':'network'"),
      RUN("'id':'r','tenant':'globex'"),
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    expect_fault(calls_with(ann, "shop:find", "{}", wrong[i]), "ARGS_INVALID");
  expect_called(shop, "");
}

static void the_cost_of_calls_is_limited(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  governed_by(w, "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':["
                 "{'name':'find','class':'observe','approval_mode':'read_only','cost':0.4}]}],"
                 "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}],"
                 "'context':{'defaults':{'budget':{'max_cost':1}}}");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  const struct json *m = calls(ann, "shop:find", "{}");
  expect_fault(m, "RUN_BUDGET_EXCEEDED");
  expect_part(m, "'limit':'max_cost'");
  expect_called(shop, "find {}\nfind {}\n");
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(without_a_permission_a_tool_does_not_exist_for_the_agent),
      TEST(in_mode_direct_the_list_has_the_permitted_tools_only),
      TEST(in_mode_servers_a_denial_does_not_show_whether_the_tool_is_registered),
      TEST(methods_outside_of_the_protocol_are_refused_without_rules),
      TEST(arguments_that_are_no_object_do_not_evade_constraints),
      TEST(a_tool_whose_every_call_rules_deny_does_not_exist),
      TEST(arguments_beyond_a_constraint_do_not_reach_the_server),
      TEST(a_client_can_lower_the_ceiling_of_a_call_but_not_raise_it),
      TEST(a_server_without_an_adapter_is_hidden_unless_the_file_allows_it),
      TEST(a_new_file_counts_from_the_next_call_on_and_the_client_is_notified),
      TEST(a_file_with_an_error_does_not_replace_the_one_in_force),
      TEST(rules_and_governance_must_both_allow),
      TEST(a_run_ends_when_its_number_of_calls_is_used_up),
      TEST(denied_calls_and_dry_runs_use_no_budget),
      TEST(a_run_ends_with_its_time),
      TEST(a_client_can_give_a_part_of_its_run_a_smaller_budget_only),
      TEST(a_malformed_run_in_meta_is_refused),
      TEST(the_cost_of_calls_is_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
