// SPDX-License-Identifier: Apache-2.0
// Provisional capabilities: tools that no adapter of a governance file lists.
#include "gateway_world.h"
#include "governance_world.h"

#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'find','class':'observe','approval_mode':'read_only'}]}]," \
  "'permissions':[{'permission_id':'p','adapter_id':'adp_shop','capability':'find','allow':true}]"
#define AGENTS "'agents':{'ann':{},'reader':{'safety_mode':'read_only'},'visitor':{'safety_mode':'network'}}"

static struct server *a_server(struct world *w, const char *name) {
  struct server *s = serves(w, name, NULL);
  has_tool(s, "{'name':'find','description':'Find goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'look','description':'Look at goods.','inputSchema':{'type':'object'},"
              "'annotations':{'readOnlyHint':true}}");
  has_tool(s, "{'name':'ask','description':'Ask about goods.','inputSchema':{'type':'object'},"
              "'annotations':{'readOnlyHint':true,'openWorldHint':true}}");
  has_tool(s, "{'name':'wipe','description':'Remove goods.','inputSchema':{'type':'object'},"
              "'annotations':{'destructiveHint':false,'idempotentHint':true}}");
  return s;
}

static void governed(struct world *w, const char *members) {
  given(w, "governance: governance.json\naudit: {enabled: false}\n");
  write_file("governance.json", arena_cstr(&w->arena, arena_printf(&w->arena, "{%.*s}", STR_ARG(quoted(w, members)))));
}

static void a_tool_that_only_reads_is_read_only_and_any_other_is_destructive(void **state) {
  struct world *w = *state;
  struct server *docs = a_server(w, "docs");
  governed(w, "'context':{'unlisted_servers':'provisional'," AGENTS "}");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann"), *reader = arrives_as(w, MODE_DIRECT, "reader");
  struct agent *visitor = arrives_as(w, MODE_DIRECT, "visitor");
  const struct json *list = asks(reader, "tools/list", "{}");
  expect_part(list, "look");
  expect_no_part(list, "ask");
  expect_no_part(list, "wipe");
  list = asks(visitor, "tools/list", "{}");
  expect_part(list, "ask");
  expect_no_part(list, "wipe");
  expect_text(calls(reader, "docs:look", "{}"), "ok");
  expect_fault(calls(reader, "docs:wipe", "{}"), "ARGS_INVALID");
  expect_words(calls(ann, "docs:wipe", "{}"), "approval_required");
  const struct json *m = calls_with(ann, "docs:wipe", "{}", "'_meta':{'toolgate/safetyMode':'delegated'}");
  expect_fault(m, "MODE_ABOVE_RUN_CEILING");
  expect_part(m, "'mode_highest':'destructive','provisional':true");
  expect_called(docs, "look {}\n");
}

static void a_tool_without_a_capability_is_provisional_if_the_file_says_so(void **state) {
  struct world *w = *state;
  struct server *shop = a_server(w, "shop");
  governed(w, ADAPTERS ",'context':{'unlisted_tools':'provisional'," AGENTS "}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *reader = arrives_as(w, MODE_GATEWAY, "reader");
  expect_text(calls(reader, "shop:look", "{}"), "ok");
  expect_fault(calls(reader, "shop:wipe", "{}"), "TOOL_NOT_FOUND");
  expect_words(calls(ann, "shop:wipe", "{}"), "approval_required");
  expect_text(calls(ann, "shop:find", "{}"), "ok");
  expect_called(shop, "look {}\nfind {}\n");
}

static void discovery_says_which_capabilities_are_provisional(void **state) {
  struct world *w = *state;
  a_server(w, "shop");
  governed(w, ADAPTERS ",'context':{'unlisted_tools':'provisional'," AGENTS "}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const struct json *m = uses(ann, "tool_browse", "{'path':'/shop'}");
  expect_part(m, "act destructive (provisional)");
  expect_part(m, "observe read_only (provisional)");
  expect_part(m, "(tool, observe read_only) — Find");  // find, which the adapter lists
}

static void by_default_such_tools_and_servers_do_not_exist(void **state) {
  struct world *w = *state;
  struct server *shop = a_server(w, "shop"), *docs = a_server(w, "docs");
  governed(w, ADAPTERS ",'context':{" AGENTS "}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_fault(calls(ann, "shop:look", "{}"), "TOOL_NOT_FOUND");
  expect_fault(calls(ann, "docs:look", "{}"), "TOOL_NOT_FOUND");
  expect_called(shop, "");
  expect_called(docs, "");
}

static void rules_apply_to_provisional_capabilities(void **state) {
  struct world *w = *state;
  struct server *docs = a_server(w, "docs");
  governed(w, "'context':{'unlisted_servers':'provisional'," AGENTS "},'bundles':[{'bundle_id':'b','policy_dsl':"
              "{'language':'jsonlogic','rules':[{'rule_id':'r','if':{'==':[{'var':'args.x'},1]},"
              "'then':{'allow':true}}]}}]");
  struct agent *ann = arrives_as(w, MODE_DIRECT, "ann");
  expect_fault(calls(ann, "docs:wipe", "{'x':2}"), "POLICY_DENIED");
  expect_words(calls(ann, "docs:wipe", "{'x':1}"), "approval_required");
  expect_text(calls(ann, "docs:look", "{}"), "ok");
  expect_called(docs, "look {}\n");
}

static void an_unknown_tool_gets_the_same_answer_as_without_governance(void **state) {
  struct world *w = *state;
  a_server(w, "docs");
  governed(w, "'context':{'unlisted_servers':'provisional'," AGENTS "}");
  struct agent *ann = arrives_as(w, MODE_SERVERS, "ann"), *reader = arrives_as(w, MODE_SERVERS, "reader");
  expect_fault(calls(ann, "docs:none", "{}"), "TOOL_NOT_FOUND");
  expect_fault(calls(reader, "docs:none", "{}"), "DENIED_BY_POLICY");  // as for a tool above its ceiling
  expect_fault(calls(reader, "docs:wipe", "{}"), "DENIED_BY_POLICY");
}

static void a_question_can_have_the_hints_of_a_tool(void **state) {
  struct governance *g = governance_of("{'adapters':[{'adapter_id':'a','type':'MCP','server':'s','capabilities':[]}],"
                                       "'context':{'unlisted_servers':'provisional','unlisted_tools':'provisional'}}");
  assert_decides(g, "{'capability':'a.x'}", "ALLOWED effective=destructive at=/context/unlisted_tools");
  assert_decides(g, "{'capability':'a.x','annotations':{'readOnlyHint':true}}",
                 "ALLOWED effective=read_only at=/context/unlisted_tools");
  assert_decides(g, "{'capability':'mcp_t.x.y','annotations':{'readOnlyHint':true,'openWorldHint':true}}",
                 "ALLOWED effective=network at=/context/unlisted_servers");
  assert_decides(g, "{'capability':'mcp_s.x'}", "CAPABILITY_UNKNOWN at=/adapters");  // s has an adapter
  assert_decides(g, "{'capability':'other.x'}", "CAPABILITY_UNKNOWN at=/adapters");
  governance_unref(&g);
}

static void each_class_can_be_registered_with_its_modes_only(void **state) {
  static const struct {
    const char *class, *modes;
  } legal[] = {{"observe", "read_only network"},
               {"recall", "read_only network"},
               {"verify", "read_only network"},
               {"think_support", "read_only"},
               {"act", "local_write network delegated destructive"}};
  static const char *const modes[] = {"read_only", "local_write", "network", "delegated", "destructive"};
  for (size_t i = 0; i < sizeof legal / sizeof *legal; i++)
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
      char file[256];
      struct buf problems;
      snprintf(file, sizeof file,
               "{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':[{'name':'n','class':'%s',"
               "'approval_mode':'%s'}]}]}",
               legal[i].class, modes[k]);
      buf_init(&problems, 1 << 12);
      struct governance *g = governance_try(file, &problems);
      bool allowed = strstr(legal[i].modes, modes[k]) != NULL;
      assert_int_equal(g != NULL, allowed);
      buf_char(&problems, 0);
      assert_int_equal(strstr(problems.p, "CLASS_MODE_CONFLICT") != NULL, !allowed);
      governance_unref(&g);
      buf_done(&problems);
    }
}

static void a_provisional_capability_of_class_act_is_destructive(void **state) {
  struct governance *g = governance_of("{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':["
                                       "{'name':'n','class':'act','approval_mode':'network','provisional':true},"
                                       "{'name':'m','class':'act','approval_mode':'network'}]}],'permissions':["
                                       "{'permission_id':'p','adapter_id':'a','capability':'n','allow':true},"
                                       "{'permission_id':'q','adapter_id':'a','capability':'m','allow':true}]}");
  assert_decides(g, "{'capability':'a.n','context':{'safety_mode':'delegated'}}",
                 "MODE_ABOVE_RUN_CEILING effective=destructive rules=p at=/adapters/0/capabilities/0/approval_mode");
  assert_decides(g, "{'capability':'a.m','context':{'safety_mode':'delegated'}}",
                 "ALLOWED effective=network rules=q at=/permissions/1");
  governance_unref(&g);
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_tool_that_only_reads_is_read_only_and_any_other_is_destructive),
      TEST(a_tool_without_a_capability_is_provisional_if_the_file_says_so),
      TEST(discovery_says_which_capabilities_are_provisional),
      TEST(by_default_such_tools_and_servers_do_not_exist),
      TEST(rules_apply_to_provisional_capabilities),
      TEST(an_unknown_tool_gets_the_same_answer_as_without_governance),
      cmocka_unit_test(a_question_can_have_the_hints_of_a_tool),
      cmocka_unit_test(each_class_can_be_registered_with_its_modes_only),
      cmocka_unit_test(a_provisional_capability_of_class_act_is_destructive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
