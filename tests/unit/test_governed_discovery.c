// SPDX-License-Identifier: Apache-2.0
// Discovery with a governance file: the argument `filter` of tool_browse, the intent of a run, and plan_check.
#include "governed_world.h"

#define STRUCTURED "gateway: {structured: always}\n"
#define CAPABILITY(name, class, mode, more) "{'name':'" name "','class':'" class "','approval_mode':'" mode "'" more "}"
#define ADAPTERS \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','domain':'sales','capabilities':[" CAPABILITY( \
      "find", "observe", "read_only", \
      "") "," CAPABILITY("check", "verify", "read_only", \
                         "") "," CAPABILITY("probe", "verify", "network", \
                                            ",'domain':'stock'") "," CAPABILITY("order", "act", "destructive", \
                                                                                ",'scopes':['buy']") "]}]"
#define PERMISSION(name) \
  "{'permission_id':'p_" name "','adapter_id':'adp_shop','capability':'" name "','allow':true" \
  ",'arg_constraints':{'amount':{'max':100},'by':{'required':true}}}"
#define PERMISSIONS \
  "'permissions':[" PERMISSION("find") "," PERMISSION("check") "," PERMISSION("probe") "," PERMISSION("order") "]"
#define CONTEXT(members) "'context':{'defaults':{'scopes':['buy']" members "}}"

// A server whose tools have the same words, so that a search finds all of them with similar scores.
static struct server *a_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'find','description':'Goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'check','description':'Goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'probe','description':'Goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'order','description':'Goods.','inputSchema':{'type':'object'}}");
  return s;
}

// The names of the tools on the cards, in their order: "find check".
static const char *names(struct world *w, const struct json *message) {
  struct buf b;
  buf_init(&b, 4096);
  const struct json *structured = json_get(json_get(message, STR("result")), STR("structuredContent"));
  const struct json *cards = json_get(structured, STR("cards"));
  if (!cards) fail_msg("no cards: %.*s", STR_ARG(raw(message)));
  JSON_EACH(it, cards) {
    str name;
    assert_true(json_string(json_get(it, STR("name")), &w->arena, &name));
    buf_printf(&b, "%s%.*s", b.n ? " " : "", STR_ARG(name));
  }
  const char *text = arena_cstr(&w->arena, buf_view(&b));
  buf_done(&b);
  return text;
}

static void assert_found(struct world *w, struct agent *a, const char *filter, const char *expected) {
  str args = arena_printf(&w->arena, "{'path':'/shop','filter':%s}", filter);
  assert_string_equal(names(w, uses(a, "tool_browse", args.p)), expected);
}

static void a_filter_keeps_the_tools_whose_capabilities_match(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  assert_found(w, ann, "null", "check find order probe");
  assert_found(w, ann, "{}", "check find order probe");
  assert_found(w, ann, "{'class':'verify'}", "check probe");
  assert_found(w, ann, "{'class':['observe','act']}", "find order");
  assert_found(w, ann, "{'max_mode':'network'}", "check find probe");
  assert_found(w, ann, "{'domain':'sales'}", "check find order");
  assert_found(w, ann, "{'domain':'stock','class':'verify'}", "probe");
  assert_found(w, ann, "{'claim':'buy'}", "order");
  assert_found(w, ann, "{'capability':'adp_shop.*r*'}", "order probe");
  assert_found(w, ann, "{'class':'recall'}", "");
  const struct json *m = uses(ann, "tool_browse", "{'query':'goods','filter':{'class':'act'}}");
  assert_string_equal(names(w, m), "order");
  expect_part(m, "(tool, act destructive)");
  expect_part(m, "'capability':'adp_shop.order','class':'act','approval_mode':'destructive','domain':'sales'");
}

static void a_malformed_filter_is_refused(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  static const char *const wrong[] = {"'act'",           "[]",           "{'class':'write'}", "{'class':[]}",
                                      "{'class':5}",     "{'domain':5}", "{'domain':''}",     "{'max_mode':'all'}",
                                      "{'risk':'high'}", "{'claim':[]}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    str args = arena_printf(&w->arena, "{'query':'goods','filter':%s}", wrong[i]);
    expect_fault(uses(ann, "tool_browse", args.p), "ARGS_INVALID");
  }
}

static void without_governance_there_is_no_filter(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, "audit: {enabled: false}\n");
  struct agent *ann = arrives(w, MODE_GATEWAY);
  expect_no_part(asks(ann, "tools/list", "{}"), "filter");
  expect_fault(uses(ann, "tool_browse", "{'query':'goods','filter':{}}"), "ARGS_INVALID");
  expect_no_part(uses(ann, "tool_browse", "{'query':'goods'}"), "approval_mode");
}

static void an_intent_shows_the_tools_of_its_classes_only(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, ADAPTERS "," PERMISSIONS ",'intents':{'audit':{'classes':['verify']}}," CONTEXT(
                     "},'agents':{'ann':{'intent':'read_only'},'bob':{'intent':'audit'},'eve':{'intent':'buy'}"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob"),
               *eve = arrives_as(w, MODE_GATEWAY, "eve");
  assert_found(w, ann, "{}", "check find probe");
  assert_found(w, bob, "{}", "check probe");
  assert_found(w, eve, "{}", "check find order probe");
  expect_fault(calls(ann, "shop:order", "{'by':'ann'}"), "TOOL_NOT_FOUND");
  expect_fault(calls(bob, "shop:find", "{'by':'bob'}"), "TOOL_NOT_FOUND");
  expect_called(shop, "");
}

static void verify_comes_before_observe_if_evidence_is_required_and_scores_are_similar(void **state) {
  struct world *w = *state;
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'aaa','description':'Goods.','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'bbb','description':'Goods.','inputSchema':{'type':'object'}}");
  given(w, STRUCTURED);
  governed_by(w, "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':["
                 "{'name':'aaa','class':'observe','approval_mode':'read_only'},"
                 "{'name':'bbb','class':'verify','approval_mode':'read_only'}]}],"
                 "'permissions':[{'permission_id':'a','adapter_id':'adp_shop','capability':'aaa','allow':true},"
                 "{'permission_id':'b','adapter_id':'adp_shop','capability':'bbb','allow':true}],"
                 "'context':{'agents':{'ann':{'evidence_required':true},'bob':{}}}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  assert_string_equal(names(w, uses(bob, "tool_browse", "{'query':'goods'}")), "aaa bbb");
  expect_part(uses(bob, "tool_browse", "{'query':'goods','top_k':1}"), "shop:aaa");
  assert_string_equal(names(w, uses(ann, "tool_browse", "{'query':'goods'}")), "bbb aaa");
  assert_string_equal(names(w, uses(ann, "tool_browse", "{'query':'goods','top_k':1}")), "bbb");
}

// ---- plans

static void a_plan_is_decided_without_a_call(void **state) {
  struct world *w = *state;
  struct server *shop = a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true," ADAPTERS "," PERMISSIONS "," CONTEXT(",'budget':{'max_calls':1}"));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_part(asks(ann, "tools/list", "{}"), "plan_check");
  const struct json *m = uses(ann, "plan_check",
                              "{'steps':[{'tool_id':'shop:find'},{'tool_id':'shop:order','args':{'amount':101}},"
                              "{'tool_id':'shop:find','args':{},'args_complete':true},{'tool_id':'shop:none'}]}");
  expect_part(m, "'id':'1','tool_id':'shop:find','allowed':true");
  expect_part(m, "'id':'2','tool_id':'shop:order','allowed':false,'code':'ARG_CONSTRAINT_VIOLATION'");
  expect_part(m, "'violations':[{'path':'amount','constraint':'max'}]");
  expect_part(m, "'violations':[{'path':'by','constraint':'required'}]");
  expect_part(m, "'id':'4','tool_id':'shop:none','allowed':false,'code':'CAPABILITY_UNKNOWN'");
  expect_called(shop, "");
  // The budget of the run has one call, and the check has not used it.
  expect_text(calls(ann, "shop:find", "{'by':'ann'}"), "ok");
  expect_called(shop, "find {'by':'ann'}\n");
}

#define ALLOW(name) "{'permission_id':'p_" name "','adapter_id':'adp_shop','capability':'" name "','allow':true}"
#define MARKED \
  "'adapters':[{'adapter_id':'adp_shop','type':'MCP','server':'shop','capabilities':[" \
  "{'name':'mail','class':'observe','approval_mode':'read_only','flow':['reads_private']}," \
  "{'name':'page','class':'observe','approval_mode':'read_only','flow':['untrusted_input']}," \
  "{'name':'post','class':'observe','approval_mode':'read_only','flow':['sends_out']}]}]," \
  "'permissions':[" ALLOW("mail") "," ALLOW("page") "," ALLOW("post") "]"

static struct server *a_marked_shop(struct world *w) {
  struct server *s = serves(w, "shop", NULL);
  has_tool(s, "{'name':'mail','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'page','inputSchema':{'type':'object'}}");
  has_tool(s, "{'name':'post','inputSchema':{'type':'object'}}");
  return s;
}

static void a_plan_check_uses_no_quota_and_leaves_no_marks(void **state) {
  struct world *w = *state;
  struct server *shop = a_marked_shop(w);
  given(w, STRUCTURED "rate_limits: {tool_execute: {max_calls_per_session: 1}, tools: {'shop:po*': "
                      "{max_calls_per_minute: 1}}}\n");
  governed_by(w, "'plan_check':true," MARKED ",'context':{'defaults':{'budget':{'max_calls':1,'max_cost':1}}}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  for (int i = 0; i < 3; i++) {
    const struct json *m =
        uses(ann, "plan_check", "{'steps':[{'tool_id':'shop:mail'},{'tool_id':'shop:page'},{'tool_id':'shop:post'}]}");
    expect_part(m, "'id':'3','tool_id':'shop:post','allowed':false,'code':'FLOW_DENIED'");
  }
  expect_called(shop, "");
  // With the marks of the plan, the flow guard would refuse this call; with its use of quotas, the limits would.
  expect_text(calls(ann, "shop:post", "{}"), "ok");
  expect_called(shop, "post {}\n");
  expect_fault(calls(ann, "shop:post", "{}"), "RATE_LIMITED");
}

static void a_plan_begins_with_the_marks_of_the_run(void **state) {
  struct world *w = *state;
  a_marked_shop(w);
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true," MARKED);
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  expect_text(calls(ann, "shop:mail", "{}"), "ok");
  const char *plan = "{'steps':[{'tool_id':'shop:page'},{'tool_id':'shop:post'}]}";
  expect_part(uses(ann, "plan_check", plan), "'id':'2','tool_id':'shop:post','allowed':false,'code':'FLOW_DENIED'");
  expect_part(uses(bob, "plan_check", plan), "'id':'2','tool_id':'shop:post','allowed':true");
}

static void the_flow_guard_applies_to_the_steps_of_servers_without_an_adapter(void **state) {
  struct world *w = *state;
  a_marked_shop(w);
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true,'context':{'unlisted_servers':'allow'},'flow':{'marks':["
                 "{'tools':['shop:mail'],'flow':['reads_private']},{'tools':['shop:page'],'flow':['untrusted_input']},"
                 "{'tools':['shop:post'],'flow':['sends_out']}]}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const struct json *m =
      uses(ann, "plan_check", "{'steps':[{'tool_id':'shop:mail'},{'tool_id':'shop:post'},{'tool_id':'shop:page'}]}");
  expect_part(m, "'id':'2','tool_id':'shop:post','allowed':true");
  expect_part(m, "'id':'3','tool_id':'shop:page','allowed':false,'code':'FLOW_DENIED'");
}

static void known_arguments_of_a_plan_must_match_the_schema_of_the_tool(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "shop", NULL);
  has_tool(shop, "{'name':'find','inputSchema':{'type':'object','properties':{'q':{'type':'string'},"
                 "'limit':{'anyOf':[{'type':'integer'},{'type':'null'}]},"
                 "'where':{'type':'object','properties':{'a':{'type':'integer'}},'required':['a']}},"
                 "'required':['q'],'anyOf':[{'required':['limit']},{'required':['where']}],"
                 "'additionalProperties':false}}");
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true," ADAPTERS ",'permissions':[" ALLOW("find") "]");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  static const struct {
    const char *step, *errors;
  } cases[] = {
      {"'args':{}", NULL},
      {"'args':{'where':{}}", NULL},
      {"'args':{'q':'tea','limit':null},'args_complete':true", NULL},
      {"'args':{'q':5}", "'pointer':'/q','keyword':'type'"},
      {"'args':{'limit':'many'}", "'pointer':'/limit','keyword':'anyOf'"},
      {"'args':{'where':{'a':'x'}}", "'pointer':'/where/a','keyword':'type'"},
      {"'args':{'query':'tea'}", "'pointer':'/query','keyword':'additionalProperties'"},
      {"'args':{'query':{}}", "'pointer':'/query','keyword':'additionalProperties'"},
      {"'args':{'limit':1},'args_complete':true", "'pointer':'','keyword':'required'"},
      {"'args':{'q':'tea'},'args_complete':true", "'pointer':'','keyword':'anyOf'"},
      {"'args_complete':true", "'pointer':'','keyword':'required'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    str args = arena_printf(&w->arena, "{'steps':[{'tool_id':'shop:find',%s}]}", cases[i].step);
    const struct json *m = uses(ann, "plan_check", args.p);
    if (cases[i].errors) expect_part(m, "'allowed':false,'code':'ARGS_INVALID'");
    expect_part(m, cases[i].errors ? cases[i].errors : "'allowed':true}");
  }
  expect_called(shop, "");
}

static void text_that_a_call_would_repair_is_valid_in_a_plan(void **state) {
  struct world *w = *state;
  struct server *shop = serves(w, "shop", NULL);
  has_tool(shop, "{'name':'find','inputSchema':{'type':'object','properties':{'n':{'type':'integer'}}}}");
  given(w, STRUCTURED "tolerant_args: true\n");
  governed_by(w, "'plan_check':true," ADAPTERS ",'permissions':[" ALLOW("find") "]");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_part(uses(ann, "plan_check", "{'steps':[{'tool_id':'shop:find','args':{'n':'5'}}]}"), "'allowed':true}");
  expect_part(uses(ann, "plan_check", "{'steps':[{'tool_id':'shop:find','args':{'n':'x'}}]}"), "ARGS_INVALID");
}

static void the_intent_of_a_plan_only_excludes_classes(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true," ADAPTERS
                 ",'intents':{'audit':{'classes':['verify']}},'permissions':[" ALLOW("find") "," ALLOW(
                     "probe") ",{'permission_id':'p','adapter_id':'adp_shop','capability':'order','allow':true,"
                              "'arg_constraints':{'amount':{'max':100}},'intents':['buy']}]"
                              ",'context':{'defaults':{'scopes':['buy']},'agents':{'bob':{'intent':'buy'}}}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  const struct json *m =
      uses(bob, "plan_check", "{'intent':'audit','steps':[{'tool_id':'shop:find'},{'tool_id':'shop:probe'}]}");
  expect_part(m, "'tool_id':'shop:find','allowed':false,'code':'CLASS_INTENT_CONFLICT'");
  expect_part(m, "'tool_id':'shop:probe','allowed':true");
  // A call is made with the intent of the run, so a plan cannot get more rights by naming another intent.
  const char *order = "{'intent':'buy','steps':[{'tool_id':'shop:order'}]}";
  expect_part(uses(bob, "plan_check", order), "'tool_id':'shop:order','allowed':true");
  expect_part(uses(ann, "plan_check", order), "'tool_id':'shop:order','allowed':false");
  expect_fault(calls(ann, "shop:order", "{}"), "TOOL_NOT_FOUND");
}

static void a_plan_obeys_the_lower_ceiling_of_its_request(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true," ADAPTERS "," PERMISSIONS "," CONTEXT(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  const struct json *m = asks(ann, "tools/call",
                              "{'name':'plan_check','arguments':{'steps':[{'tool_id':'shop:find'},"
                              "{'tool_id':'shop:probe'}]},'_meta':{'toolgate/safetyMode':'read_only'}}");
  expect_part(m, "'tool_id':'shop:find','allowed':true");
  expect_part(m, "'tool_id':'shop:probe','allowed':false,'code':'MODE_ABOVE_RUN_CEILING'");
}

// M03, M04
static void a_read_only_plan_has_no_act_and_obeys_the_ceiling(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true," ADAPTERS "," PERMISSIONS ","
                 "'context':{'defaults':{'scopes':['buy']},'agents':{'ann':{},'bob':{'safety_mode':'network'}}}");
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann"), *bob = arrives_as(w, MODE_GATEWAY, "bob");
  const struct json *m =
      uses(ann, "plan_check", "{'read_only':true,'steps':[{'tool_id':'shop:probe'},{'tool_id':'shop:order'}]}");
  expect_part(m, "'tool_id':'shop:probe','allowed':true");
  expect_part(m, "'code':'CLASS_INTENT_CONFLICT'");
  expect_part(m, "'allowed':false}");
  // A tool that the agent can never use is as unknown as one that does not exist.
  m = uses(bob, "plan_check", "{'intent':'read_only','steps':[{'tool_id':'shop:probe'},{'tool_id':'shop:order'}]}");
  expect_part(m, "'tool_id':'shop:probe','allowed':true");
  expect_part(m, "'tool_id':'shop:order','allowed':false,'code':'CAPABILITY_UNKNOWN'");
}

static void a_plan_cannot_bring_a_context_of_its_own(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, "'plan_check':true," ADAPTERS "," PERMISSIONS "," CONTEXT(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  char many[4096] = "{'steps':[{'tool_id':'shop:find'}", *end = many + strlen(many);
  for (int i = 0; i < 100; i++) end += snprintf(end, 32, ",{'tool_id':'shop:find'}");
  snprintf(end, 8, "]}");
  expect_fault(uses(ann, "plan_check", many), "ARGS_INVALID");
  static const char *const wrong[] = {"{}",
                                      "{'steps':{}}",
                                      "{'steps':[5]}",
                                      "{'steps':[{}]}",
                                      "{'steps':[{'tool_id':5}]}",
                                      "{'steps':[{'capability':'adp_shop.find'}]}",
                                      "{'steps':[],'context':{'role':'boss'}}",
                                      "{'steps':[{'tool_id':'shop:find','args':[]}]}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    expect_fault(uses(ann, "plan_check", wrong[i]), "ARGS_INVALID");
}

static void without_the_key_there_is_no_plan_check(void **state) {
  struct world *w = *state;
  a_shop(w);
  given(w, STRUCTURED);
  governed_by(w, ADAPTERS "," PERMISSIONS "," CONTEXT(""));
  struct agent *ann = arrives_as(w, MODE_GATEWAY, "ann");
  expect_no_part(asks(ann, "tools/list", "{}"), "plan_check");
  expect_part(uses(ann, "plan_check", "{'steps':[]}"), "'code':-32602");
}

#define TEST(name) IN_A_WORLD(name)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_filter_keeps_the_tools_whose_capabilities_match),
      TEST(a_malformed_filter_is_refused),
      TEST(without_governance_there_is_no_filter),
      TEST(an_intent_shows_the_tools_of_its_classes_only),
      TEST(verify_comes_before_observe_if_evidence_is_required_and_scores_are_similar),
      TEST(a_plan_is_decided_without_a_call),
      TEST(a_plan_check_uses_no_quota_and_leaves_no_marks),
      TEST(a_plan_begins_with_the_marks_of_the_run),
      TEST(the_flow_guard_applies_to_the_steps_of_servers_without_an_adapter),
      TEST(known_arguments_of_a_plan_must_match_the_schema_of_the_tool),
      TEST(text_that_a_call_would_repair_is_valid_in_a_plan),
      TEST(the_intent_of_a_plan_only_excludes_classes),
      TEST(a_plan_obeys_the_lower_ceiling_of_its_request),
      TEST(a_read_only_plan_has_no_act_and_obeys_the_ceiling),
      TEST(a_plan_cannot_bring_a_context_of_its_own),
      TEST(without_the_key_there_is_no_plan_check),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
