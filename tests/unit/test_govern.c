// SPDX-License-Identifier: Apache-2.0
// Governance: modes and classes, each step of a decision, each error of a file.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "governance_world.h"

// ---- files

#define CAPABILITY(name, class, mode) "{'name':'" name "','class':'" class "','approval_mode':'" mode "'}"
#define ADAPTERS \
  "'adapters':[{'adapter_id':'a','type':'MCP','capabilities':[" CAPABILITY( \
      "kill", "act", \
      "destructive") "," CAPABILITY("book", "act", \
                                    "delegated") "," CAPABILITY("read", "observe", \
                                                                "read_only") "," CAPABILITY("fetch", "verify", \
                                                                                            "network") "]}]"
#define PERMISSION(id, capability, more) \
  "{'permission_id':'" id "','adapter_id':'a','capability':'" capability "','allow':true" more "}"
#define ALL_PERMISSIONS \
  "'permissions':[" PERMISSION("p1", "kill", "") "," PERMISSION("p2", "book", "") "," PERMISSION( \
      "p3", "read", "") "," PERMISSION("p4", "fetch", "") "]"
#define RULE(id, condition, then) "{'rule_id':'" id "','if':" condition ",'then':{" then "}}"
#define BUNDLE(id, priority, rules, gates) \
  "{'bundle_id':'" id "','priority':" priority ",'policy_dsl':{'language':'jsonlogic','rules':[" rules \
  "]},'approval_gates':[" gates "]}"
#define BUNDLES(rules, gates) "'bundles':[" BUNDLE("b", "10", rules, gates) "]"
#define GATE(id, more) "{'gate_id':'" id "','required_approver_role':'boss'" more "}"
#define FILE_WITH(parts) "{" ADAPTERS "," parts "}"

static const char plain[] = FILE_WITH(ALL_PERMISSIONS);

// The permission of the specification (003), verbatim.
static const char seed[] =
    "{'adapters':[{'adapter_id':'adp_payments','type':'MCP','server':'payments','owner':'payments-team','capabilities':"
    "[{'name':'issue_refund','class':'act','approval_mode':'destructive','scopes':['refund'],'domain':'payments'}]}],"
    "'permissions':[{"
    "  'permission_id': 'perm_payments_refund_capped',"
    "  'adapter_id': 'adp_payments',"
    "  'capability': 'issue_refund',"
    "  'allow': true,"
    "  'approval_mode': 'destructive',"
    "  'arg_constraints': {"
    "    'amount_inr': { 'min': 1, 'max': 50000 },"
    "    'currency': { 'enum': ['INR'] },"
    "    'idempotency_key': { 'required': true, 'pattern': '^ik_[a-z0-9]{16}$' }"
    "  },"
    "  'decision_binding': 'decision.support.refund.execute'"
    "}]}";

static void decide_all(const char *file, const char *const (*cases)[2], size_t count) {
  struct governance *g = governance_of(file);
  for (size_t i = 0; i < count; i++) assert_decides(g, cases[i][0], cases[i][1]);
  governance_unref(&g);
}
#define DECIDE(file, cases) decide_all(file, cases, sizeof cases / sizeof *cases)

static void assert_refused(const char *file, const char *expected) {
  struct buf b;
  buf_init(&b, 1 << 16);
  assert_null(governance_try(file, &b));
  buf_char(&b, 0);
  assert_string_equal(b.p, expected);
  buf_done(&b);
}

// ---- modes and classes

static void modes_are_ordered_and_fit_their_class(void **state) {
  static const char *const modes[] = {"read_only", "local_write", "network", "delegated", "destructive"};
  static const struct {
    const char *class, *fits;  // a digit for each mode
  } rows[] = {
      {"observe", "10100"}, {"recall", "10100"}, {"verify", "10100"}, {"think_support", "10000"}, {"act", "01111"}};
  for (size_t m = 0; m < 5; m++) {
    assert_int_equal(approval_mode_find(str_of(modes[m])), m);
    assert_string_equal(approval_mode_name((enum approval_mode)m), modes[m]);
  }
  assert_int_equal(approval_mode_find(STR("admin")), APPROVAL_NONE);
  assert_null(approval_mode_name(APPROVAL_NONE));
  for (size_t c = 0; c < 5; c++)
    for (size_t m = 0; m < 5; m++)
      assert_int_equal(approval_mode_fits(capability_class_find(str_of(rows[c].class)), (enum approval_mode)m),
                       rows[c].fits[m] == '1');
  assert_int_equal(capability_class_find(STR("Act")), CLASS_NONE);
}

// ---- decisions

static void the_permission_of_the_specification_decides(void **state) {
  static const char *const cases[][2] = {
      {"{'capability':'adp_payments.issue_refund','args':{'order_id':'ord_881','amount_inr':4200,'currency':'INR',"
       "'idempotency_key':'ik_2x9k4j7m1q8w0p3z'},'mode':'destructive','context':{'scopes':['refund']}}",
       "ALLOWED effective=destructive rules=perm_payments_refund_capped at=/permissions/0"},
      {"{'capability':'adp_payments.issue_refund','args':{'amount_inr':50001,'currency':'USD'},"
       "'context':{'scopes':['refund']}}",
       "ARG_CONSTRAINT_VIOLATION effective=destructive rules=perm_payments_refund_capped violations=amount_inr:max,"
       "currency:enum,idempotency_key:required at=/permissions/0/arg_constraints/amount_inr"},
  };
  DECIDE(seed, cases);
}

static void an_unknown_capability_is_refused(void **state) {
  static const char *const cases[][2] = {
      {"{'capability':'a.nope'}", "CAPABILITY_UNKNOWN at=/adapters/0"},
      {"{'capability':'b.kill'}", "CAPABILITY_UNKNOWN at=/adapters"},
      {"{'capability':'a'}", "CAPABILITY_UNKNOWN at=/adapters"},
      {"{'capability':'kill','mode':'admin'}", "CAPABILITY_UNKNOWN at=/adapters"},
  };
  DECIDE(plain, cases);
}

static void a_permission_must_match_and_a_denying_one_wins(void **state) {
  // clang-format off
  static const char file[] = FILE_WITH("'permissions':["
      PERMISSION("p1", "kill", ",'roles':['r','s'],'intents':['i'],'environments':['prod'],'tenants':['t']") ","
      PERMISSION("p2", "kill", ",'roles':['q']") ","
      "{'permission_id':'p3','adapter_id':'a','capability':'kill','allow':false,'roles':['q'],'tenants':['u']},"
      "{'permission_id':'p4','adapter_id':'a','capability':'read','allow':true,'roles':[]}]");
  // clang-format on
  static const char *const cases[][2] = {
      {"{'capability':'a.kill','context':{'role':'s','intent':'i','environment':'prod','tenant':'t'}}",
       "ALLOWED effective=destructive rules=p1 at=/permissions/0"},
      {"{'capability':'a.kill','context':{'role':'s','intent':'i','environment':'dev','tenant':'t'}}",
       "PERMISSION_DENIED at=/permissions"},
      {"{'capability':'a.kill','context':{'role':'s','intent':'i','environment':'prod'}}",
       "PERMISSION_DENIED at=/permissions"},
      {"{'capability':'a.kill','context':{'role':'q','tenant':null}}",
       "ALLOWED effective=destructive rules=p2 at=/permissions/1"},
      {"{'capability':'a.kill','context':{'role':'q','tenant':'u'}}",
       "PERMISSION_DENIED rules=p2,p3 at=/permissions/2"},
      {"{'capability':'a.kill','context':{'role':'Q'}}", "PERMISSION_DENIED at=/permissions"},
      {"{'capability':'a.read','context':{'role':'q'}}", "PERMISSION_DENIED at=/permissions"},
      {"{'capability':'a.fetch'}", "PERMISSION_DENIED at=/permissions"},
  };
  DECIDE(file, cases);
}

static void bundles_apply_by_priority_and_a_denying_rule_wins(void **state) {
  // clang-format off
  static const char file[] = FILE_WITH(ALL_PERMISSIONS ",'bundles':["
      BUNDLE("late", "20", RULE("late1", "true", "'allow':true") ","
                           RULE("late2", "{'==':[{'var':'role'},'bad']}", "'allow':false"), "") ","
      BUNDLE("early", "-5", "{'rule_id':'early1','applies_to':{'intent':'go'},'then':{'allow':true}}", "") ","
      BUNDLE("same", "20", RULE("same1", "false", "'allow':false") ","
                           RULE("same2", "{'var':'args.x'}", "'allow':true"), "") "]");
  // clang-format on
  static const char *const cases[][2] = {
      {"{'capability':'a.kill'}", "ALLOWED effective=destructive rules=p1,late1 at=/permissions/0"},
      {"{'capability':'a.kill','context':{'intent':'go'},'args':{'x':1}}",
       "ALLOWED effective=destructive rules=p1,early1,late1,same2 at=/permissions/0"},
      {"{'capability':'a.kill','context':{'intent':'go','role':'bad'}}",
       "POLICY_DENIED rules=p1,early1,late1,late2 at=/bundles/0/policy_dsl/rules/1"},
  };
  DECIDE(file, cases);
}

static void without_a_matching_rule_only_read_only_capabilities_pass(void **state) {
  static const char file[] = FILE_WITH(ALL_PERMISSIONS "," BUNDLES(RULE("r", "{'==':[1,2]}", "'allow':true"), ""));
  static const char *const cases[][2] = {
      {"{'capability':'a.kill'}", "POLICY_DENIED rules=p1 at=/bundles"},
      {"{'capability':'a.fetch'}", "POLICY_DENIED rules=p4 at=/bundles"},
      {"{'capability':'a.read'}", "ALLOWED effective=read_only rules=p3 at=/permissions/2"},
  };
  static const char *const without[][2] = {
      {"{'capability':'a.kill'}", "ALLOWED effective=destructive rules=p1 at=/permissions/0"}};
  DECIDE(file, cases);
  DECIDE(plain, without);
  DECIDE(FILE_WITH(ALL_PERMISSIONS ",'bundles':[]"), without);
}

static void an_expression_sees_the_context_the_arguments_and_the_capability(void **state) {
  static const char file[] = FILE_WITH(ALL_PERMISSIONS "," BUNDLES(
      RULE("c", "{'==':[{'var':'capability'},'a.kill']}", "'allow':true") "," RULE(
          "s", "{'in':['x',{'var':'scopes'}]}",
          "'allow':true") "," RULE("u", "{'==':[{'var':'user.id'},'usr_1']}",
                                   "'allow':true") "," RULE("n", "{'missing':['args.deep.n']}", "'allow':true"),
      ""));
  static const char *const cases[][2] = {
      {"{'capability':'a.kill','context':{'scopes':['w','x'],'user':{'id':'usr_1'},'args':{'deep':{'n':1}},"
       "'capability':'a.book'}}",
       "ALLOWED effective=destructive rules=p1,c,s,u,n at=/permissions/0"},
      {"{'capability':'a.kill','args':{'deep':{'n':0}}}", "ALLOWED effective=destructive rules=p1,c at=/permissions/0"},
  };
  DECIDE(file, cases);
}

static void a_failing_expression_denies_unless_it_does_not_enforce(void **state) {
#define FAILING "{'missing':[[[1]]]}"
  static const char enforced[] = FILE_WITH(
      ALL_PERMISSIONS "," BUNDLES(RULE("r1", "true", "'allow':true") "," RULE("r2", FAILING, "'allow':true"), ""));
  static const char skipped[] = FILE_WITH(ALL_PERMISSIONS "," BUNDLES(
      RULE("r1", "true", "'allow':true") ",{'rule_id':'r2','non_enforcing':true,'if':" FAILING
                                         ",'then':{'allow':false}}",
      ""));
  static const char gated[] =
      FILE_WITH(ALL_PERMISSIONS "," BUNDLES(RULE("r1", "true", "'allow':true"), GATE("G", ",'when':" FAILING)));
  static const char *const enforced_case[][2] = {
      {"{'capability':'a.read'}", "POLICY_EVAL_ERROR rules=p3,r1 at=/bundles/0/policy_dsl/rules/1/if"}};
  static const char *const skipped_case[][2] = {
      {"{'capability':'a.read'}", "ALLOWED effective=read_only rules=p3,r1 at=/permissions/2"}};
  static const char *const gated_case[][2] = {
      {"{'capability':'a.read'}", "POLICY_EVAL_ERROR rules=p3,r1 at=/bundles/0/approval_gates/0/when"}};
  DECIDE(enforced, enforced_case);
  DECIDE(skipped, skipped_case);
  DECIDE(gated, gated_case);
}

static void expressions_of_one_decision_share_a_budget(void **state) {
  struct buf file, question;
  buf_init(&file, 1 << 20);
  buf_init(&question, 1 << 20);
  buf_str(&question, STR("{'capability':'a.read','args':{'l':[0"));
  for (int i = 0; i < 10000; i++) buf_str(&question, STR(",0"));
  buf_str(&question, STR("]}}"));
  buf_char(&question, 0);
  for (int rules = 2; rules <= 20; rules += 18) {
    buf_reset(&file);
    buf_str(&file, STR("{" ADAPTERS "," ALL_PERMISSIONS
                       ",'bundles':[{'bundle_id':'b','policy_dsl':{'language':'jsonlogic','rules':["));
    for (int i = 0; i < rules; i++)
      buf_printf(&file,
                 "%s{'rule_id':'r%d','if':{'some':[{'var':'args.l'},{'<':[{'var':''},0]}]},'then':{'allow':true}}",
                 i ? "," : "", i);
    buf_str(&file, STR("]}}]}"));
    buf_char(&file, 0);
    struct governance *g = governance_of(file.p);
    assert_decides(g, question.p,
                   rules == 2 ? "ALLOWED effective=read_only rules=p3 at=/permissions/2"
                              : "POLICY_EVAL_ERROR rules=p3 at=/bundles/0/policy_dsl/rules/4/if");
    governance_unref(&g);
  }
  buf_done(&question);
  buf_done(&file);
}

// The matrix of the reference (M02, its rows are numbered), and M01.
static void the_effective_mode_follows_the_matrix(void **state) {
#define LOWER RULE("low", "{'<':[{'var':'args.amount'},1000]}", "'allow':true,'approval_mode':'delegated'")
  static const char none[] = FILE_WITH(ALL_PERMISSIONS);
  static const char lower[] = FILE_WITH(ALL_PERMISSIONS "," BUNDLES(LOWER "," RULE("any", "true", "'allow':true"), ""));
  static const char raise[] =
      FILE_WITH(ALL_PERMISSIONS "," BUNDLES(RULE("up", "true", "'allow':true,'approval_mode':'destructive'"), ""));
  static const char *const without[][2] = {
      // M02.1: without a rule, the highest mode
      {"{'capability':'a.kill'}", "ALLOWED effective=destructive rules=p1 at=/permissions/0"},
      // M02.4: a request alone does not lower the mode
      {"{'capability':'a.kill','mode':'delegated'}", "ALLOWED effective=destructive rules=p1 at=/permissions/0"},
      // M02.7: a request above the capability's mode
      {"{'capability':'a.book','mode':'destructive'}",
       "MODE_EXCEEDS_MAXIMUM rules=p2 at=/adapters/0/capabilities/1/approval_mode"},
      // M02.8: a mode above that of the run
      {"{'capability':'a.book','context':{'safety_mode':'network'}}",
       "MODE_ABOVE_RUN_CEILING effective=delegated rules=p2 at=/adapters/0/capabilities/1/approval_mode"},
      // M01: a request for network, above the mode read_only
      {"{'capability':'a.read','mode':'network'}",
       "MODE_EXCEEDS_MAXIMUM rules=p3 at=/adapters/0/capabilities/2/approval_mode"},
      {"{'capability':'a.kill','mode':'admin'}", "MODE_INVALID rules=p1 at=/adapters/0/capabilities/0/approval_mode"},
      {"{'capability':'a.kill','mode':''}", "MODE_INVALID rules=p1 at=/adapters/0/capabilities/0/approval_mode"},
  };
  static const char *const lowered[][2] = {
      // M02.2: a rule lowers the mode of a small amount
      {"{'capability':'a.kill','args':{'amount':500}}",
       "ALLOWED effective=delegated rules=p1,low,any at=/permissions/0"},
      // M02.3: but not that of a large amount
      {"{'capability':'a.kill','args':{'amount':4200}}",
       "ALLOWED effective=destructive rules=p1,any at=/permissions/0"},
      // M02.5: a request does not lower the mode below that of the rule
      {"{'capability':'a.kill','args':{'amount':500},'mode':'network'}",
       "ALLOWED effective=delegated rules=p1,low,any at=/permissions/0"},
      {"{'capability':'a.kill','args':{'amount':500},'mode':'destructive'}",
       "ALLOWED effective=destructive rules=p1,low,any at=/permissions/0"},
      {"{'capability':'a.kill','args':{'amount':500},'context':{'safety_mode':'network'}}",
       "MODE_ABOVE_RUN_CEILING effective=delegated rules=p1,low,any at=/bundles/0/policy_dsl/rules/0"},
  };
  static const char *const raised[][2] = {
      // M02.6: a rule must not raise the mode above that of the capability
      {"{'capability':'a.book'}", "MODE_RAISE_FORBIDDEN rules=p2,up at=/bundles/0/policy_dsl/rules/0"}};
  DECIDE(none, without);
  DECIDE(lower, lowered);
  DECIDE(raise, raised);
}

static void rules_for_one_capability_raise_it_only_up_to_its_highest_mode(void **state) {
  static const char file[] =
      FILE_WITH(ALL_PERMISSIONS "," BUNDLES(RULE("net", "true", "'allow':true,'approval_mode':'network'") "," RULE(
                                                "local", "true", "'allow':true,'approval_mode':'local_write'"),
                                            ""));
  static const char *const cases[][2] = {
      {"{'capability':'a.kill'}", "ALLOWED effective=network rules=p1,net,local at=/permissions/0"},
      {"{'capability':'a.read'}", "MODE_RAISE_FORBIDDEN rules=p3,net,local at=/bundles/0/policy_dsl/rules/0"},
  };
  DECIDE(file, cases);
}

static void the_lowest_mode_of_the_permissions_is_a_ceiling(void **state) {
  static const char file[] =
      FILE_WITH("'permissions':[" PERMISSION("p1", "kill", ",'approval_mode':'destructive'") "," PERMISSION(
          "p2", "kill", ",'approval_mode':'delegated'") "," PERMISSION("p3", "kill", "") "]");
  static const char lower[] =
      FILE_WITH("'permissions':[" PERMISSION("p2", "kill", ",'approval_mode':'delegated'") "]," BUNDLES(
          RULE("low", "true", "'allow':true,'approval_mode':'network'"), ""));
  static const char *const cases[][2] = {
      {"{'capability':'a.kill'}",
       "MODE_EXCEEDS_MAXIMUM effective=destructive rules=p1,p2,p3 at=/permissions/1/approval_mode"}};
  static const char *const lowered[][2] = {
      {"{'capability':'a.kill','mode':'delegated'}", "ALLOWED effective=delegated rules=p2,low at=/permissions/0"},
      {"{'capability':'a.kill','mode':'destructive'}",
       "MODE_EXCEEDS_MAXIMUM effective=destructive rules=p2,low at=/permissions/0/approval_mode"},
  };
  DECIDE(file, cases);
  DECIDE(lower, lowered);
}

static void no_rule_makes_an_act_read_only(void **state) {
  static const char file[] =
      FILE_WITH(ALL_PERMISSIONS "," BUNDLES(RULE("r", "true", "'allow':true,'approval_mode':'read_only'"), ""));
  static const char *const cases[][2] = {
      {"{'capability':'a.kill'}",
       "CLASS_MODE_CONFLICT effective=read_only rules=p1,r at=/bundles/0/policy_dsl/rules/0"},
      {"{'capability':'a.fetch'}", "ALLOWED effective=read_only rules=p4,r at=/permissions/3"},
  };
  DECIDE(file, cases);
}

static void constraints_of_all_that_matched_add_up(void **state) {
  // clang-format off
  static const char file[] = FILE_WITH("'permissions':["
      PERMISSION("p1", "kill", ",'arg_constraints':{'n':{'max':9}}") ","
      PERMISSION("p2", "kill", ",'arg_constraints':{'n':{'max':5},'k':{'required':true}}") "],"
      BUNDLES(RULE("r", "true", "'allow':true,'arg_constraints':{'n':{'min':20}}"), ""));
  // clang-format on
  static const char *const cases[][2] = {
      {"{'capability':'a.kill','args':{'n':10}}",
       "ARG_CONSTRAINT_VIOLATION effective=destructive rules=p1,p2,r violations=n:max,n:max,k:required,n:min "
       "at=/permissions/0/arg_constraints/n"},
  };
  DECIDE(file, cases);
}

static void gates_come_from_rules_from_their_own_expression_and_from_waived_constraints(void **state) {
  static const char file[] = FILE_WITH(ALL_PERMISSIONS "," BUNDLES(
      RULE("r1", "{'>':[{'var':'args.n'},3000]}",
           "'allow':true,'requires_approval_gate':'FINANCE','arg_constraints':{'n':{'max':3000,'unless_approved':true},"
           "'c':{'enum':['INR']}}") "," RULE("r2", "true",
                                             "'allow':true,'arg_constraints':{'m':{'max':1,'unless_approved':true}}"),
      GATE("FINANCE", ",'quorum':2") "," GATE("NIGHT", ",'when':{'var':'args.night'}")));
  static const char *const cases[][2] = {
      {"{'capability':'a.kill','args':{'n':1}}", "ALLOWED effective=destructive rules=p1,r2 at=/permissions/0"},
      {"{'capability':'a.kill','args':{'n':5000}}",
       "ALLOWED effective=destructive gates=FINANCE rules=p1,r1,r2 at=/bundles/0/approval_gates/0"},
      {"{'capability':'a.kill','args':{'n':5000,'night':true}}",
       "ALLOWED effective=destructive gates=FINANCE,NIGHT rules=p1,r1,r2 at=/bundles/0/approval_gates/0"},
      {"{'capability':'a.kill','args':{'n':5000,'c':'USD'}}",
       "ARG_CONSTRAINT_VIOLATION effective=destructive gates=FINANCE rules=p1,r1,r2 violations=c:enum "
       "at=/bundles/0/policy_dsl/rules/0/then/arg_constraints/c"},
      {"{'capability':'a.kill','args':{'m':2,'night':1}}",
       "ALLOWED effective=destructive gates=NIGHT rules=p1,r2 at=/bundles/0/approval_gates/1"},
      // Nobody is there who could approve.
      {"{'capability':'a.kill','args':{'m':2}}",
       "ARG_CONSTRAINT_VIOLATION effective=destructive rules=p1,r2 violations=m:max "
       "at=/bundles/0/policy_dsl/rules/1/then/arg_constraints/m"},
  };
  DECIDE(file, cases);
  struct governance *g = governance_of(file);
  assert_int_equal(governance_capability_count(g), 4);
  assert_true(str_eq(governance_capability_at(g, 0)->id, STR("a.book")));
  governance_unref(&g);
}

static void an_intent_allows_its_classes_only(void **state) {
  static const char file[] =
      FILE_WITH(ALL_PERMISSIONS ",'intents':{'report':{'classes':['observe','verify']},'book':{'classes':['act']}}");
  static const char *const cases[][2] = {
      {"{'capability':'a.kill','context':{'intent':'read_only'}}", "CLASS_INTENT_CONFLICT rules=p1 at=/intents"},
      {"{'capability':'a.read','context':{'intent':'read_only'}}",
       "ALLOWED effective=read_only rules=p3 at=/permissions/2"},
      // M04: the class is allowed; the ceiling of the run still applies.
      {"{'capability':'a.fetch','context':{'intent':'read_only'}}",
       "ALLOWED effective=network rules=p4 at=/permissions/3"},
      {"{'capability':'a.fetch','context':{'intent':'read_only','safety_mode':'read_only'}}",
       "MODE_ABOVE_RUN_CEILING effective=network rules=p4 at=/adapters/0/capabilities/3/approval_mode"},
      {"{'capability':'a.book','context':{'intent':'report'}}", "CLASS_INTENT_CONFLICT rules=p2 at=/intents/report"},
      {"{'capability':'a.read','context':{'intent':'report'}}",
       "ALLOWED effective=read_only rules=p3 at=/permissions/2"},
      {"{'capability':'a.read','context':{'intent':'book'}}", "CLASS_INTENT_CONFLICT rules=p3 at=/intents/book"},
      {"{'capability':'a.kill','context':{'intent':'other'}}",
       "ALLOWED effective=destructive rules=p1 at=/permissions/0"},
      {"{'capability':'a.kill'}", "ALLOWED effective=destructive rules=p1 at=/permissions/0"},
  };
  DECIDE(file, cases);
  assert_refused("{'intents':[]}", "/intents must be an object of at most 1000 intents");
  assert_refused("{'intents':{'i':{}}}", "/intents/i needs the member \"classes\"");
  assert_refused("{'intents':{'i':{'classes':['observe','write']}}}",
                 "/intents/i/classes/1 must be observe, recall, think_support, act or verify");
  assert_refused("{'intents':{'read_only':{'classes':['act']}}}",
                 "/intents/read_only CLASS_INTENT_CONFLICT: the intent read_only cannot have the class act");
}

static void members_that_the_context_does_not_have_are_not_checked(void **state) {
  static const char *const cases[][2] = {
      {"{'capability':'adp_payments.issue_refund','args':{'idempotency_key':'ik_2x9k4j7m1q8w0p3z'}}",
       "ALLOWED effective=destructive rules=perm_payments_refund_capped at=/permissions/0"},
      {"{'capability':'adp_payments.issue_refund','context':{'scopes':null},"
       "'args':{'idempotency_key':'ik_2x9k4j7m1q8w0p3z'}}",
       "ALLOWED effective=destructive rules=perm_payments_refund_capped at=/permissions/0"},
      {"{'capability':'adp_payments.issue_refund','context':{'scopes':[]}}",
       "DELEGATION_REQUIRED effective=destructive rules=perm_payments_refund_capped at=/adapters/0/capabilities/0"},
      {"{'capability':'adp_payments.issue_refund','context':{'scopes':['Refund','refund ']}}",
       "DELEGATION_REQUIRED effective=destructive rules=perm_payments_refund_capped at=/adapters/0/capabilities/0"},
  };
  DECIDE(seed, cases);
}

// The classes of runs without permissions: provisional capabilities.
static void an_intent_also_limits_tools_that_no_adapter_lists(void **state) {
  static const char file[] =
      "{'intents':{'report':{'classes':['observe']}},'context':{'unlisted_servers':'provisional'}}";
  static const char *const cases[][2] = {
      {"{'capability':'mcp_x.kill'}", "ALLOWED effective=destructive at=/context/unlisted_servers"},
      {"{'capability':'mcp_x.kill','context':{'intent':'report'}}", "CLASS_INTENT_CONFLICT at=/intents/report"},
      {"{'capability':'mcp_x.kill','context':{'intent':'read_only'}}", "CLASS_INTENT_CONFLICT at=/intents"},
      {"{'capability':'mcp_x.look','context':{'intent':'report'},'annotations':{'readOnlyHint':true}}",
       "ALLOWED effective=read_only at=/context/unlisted_servers"},
      {"{'capability':'mcp_x.kill','mode':'admin'}", "MODE_INVALID at=/context/unlisted_servers"},
  };
  DECIDE(file, cases);
}

static void a_question_must_be_well_formed(void **state) {
  static const char *const wrong[][2] = {
      {"[]", "a question must be an object with \"capability\"; args, context and mode are optional"},
      {"{'capability':5}", "a question must be an object with \"capability\"; args, context and mode are optional"},
      {"{'capability':'a.b','args':[]}", "args must be an object"},
      {"{'capability':'a.b','mode':5}", "mode must be a string"},
      {"{'capability':'a.b','context':5}", "context must be an object"},
      {"{'capability':'a.b','context':{'role':['r']}}", "context.role must be a string"},
      {"{'capability':'a.b','context':{'safety_mode':'none'}}",
       "context.safety_mode must be an approval mode, such as read_only"},
      {"{'capability':'a.b','context':{'safety_mode':1}}", "context.safety_mode must be a string"},
      {"{'capability':'a.b','context':{'scopes':'x'}}", "context.scopes must be a list of strings"},
      {"{'capability':'a.b','context':{'scopes':['x',1]}}", "context.scopes must be a list of strings"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena a;
    struct fault f = {0};
    struct governance_question q;
    arena_init(&a);
    struct json *v = governance_parse(&a, governance_quoted(&a, wrong[i][0]));
    assert_false(governance_read_question(v, &a, &q, &f));
    assert_string_equal(f.message, wrong[i][1]);
    arena_done(&a);
  }
}

// ---- errors of a file

static void an_adapter_has_all_its_fields(void **state) {
  struct governance *g = governance_of(
      "{'adapters':[{'adapter_id':'mcp_fs','type':'MCP','server':'fs','owner':'o','description':'d','endpoint_ref':'e',"
      "'domain':'files','environment':'prod','version':'1.2.0','protocol':'mcp','protocol_version':'2025-11-25',"
      "'transport':'streamable_http','default_idempotency':'native','timeout_ms':5000,'retry':{'max_attempts':2,"
      "'base_delay':0.2,'max_delay':5},'capabilities':[{'name':'fs.read','class':'observe','approval_mode':'network',"
      "'scopes':['s'],'claims':['c'],'evidence':['file.hash'],'description':'x','domain':'y','environment':'z',"
      "'input_schema':'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef','timeout_ms':100,"
      "'risk':{'effect':'external_state','reversibility':'reversible','interaction':'api'}}]}]}");
  const struct governance_capability *c = governance_find(g, STR("mcp_fs.fs.read"));
  assert_non_null(c);
  assert_true(str_eq(c->adapter->server, STR("fs")) && str_eq(c->adapter->protocol_version, STR("2025-11-25")));
  assert_true(c->idempotency == IDEMPOTENCY_NATIVE && c->timeout_ms == 100 && c->adapter->timeout_ms == 5000);
  assert_true(c->adapter->retry.set && c->adapter->retry.max_attempts == 2 && c->retry.max_attempts == 2);
  assert_true(c->scopes.count == 1 && str_eq(c->claims.list[0], STR("c")) && c->output_schema.p == NULL);
  assert_true(c->risk.effect == 3 && c->risk.authority == 0 && c->risk.interaction == 1);
  governance_unref(&g);
}

static void an_error_in_adapters_refuses_the_file(void **state) {
#define WITH(capability) "{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':[" capability "]}]}"
  assert_refused("[]", " must be an object");
  assert_refused("{'adapter':[]}", "/adapter is an unknown member; did you mean \"adapters\"?");
  assert_refused("{'adapters':{}}", "/adapters must be a list");
  assert_refused("{'adapters':[{}]}", "/adapters/0 needs the member \"adapter_id\"\n/adapters/0 needs the member "
                                      "\"type\"\n/adapters/0 needs the member \"capabilities\"");
  assert_refused("{'adapters':[{'adapter_id':'a','type':'SOAP','capabilities':[]}]}",
                 "/adapters/0/type must be MCP, A2A, OPENAPI, FUNCTION or CUSTOM");
  assert_refused("{'adapters':[{'adapter_id':'a.b','type':'MCP','capabilities':[]}]}",
                 "/adapters/0 adapter_id must not contain a dot");
  assert_refused("{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':[]},{'adapter_id':'a','type':'A2A',"
                 "'capabilities':[]}]}",
                 "/adapters/1 the adapter_id \"a\" is used twice");
  assert_refused("{'adapters':[{'adapter_id':'','type':'MCP','capabilities':[]}]}",
                 "/adapters/0/adapter_id must be a string of 1 to 256 bytes without control characters");
  assert_refused(WITH(CAPABILITY("n", "act", "read_only")),
                 "/adapters/0/capabilities/0 CLASS_MODE_CONFLICT: a capability of class act cannot have the approval "
                 "mode read_only");
  assert_refused(WITH(CAPABILITY("n", "think_support", "network")),
                 "/adapters/0/capabilities/0 CLASS_MODE_CONFLICT: a capability of class think_support cannot have the "
                 "approval mode network");
  assert_refused(WITH(CAPABILITY("n", "write", "admin")),
                 "/adapters/0/capabilities/0/class must be observe, recall, think_support, act or verify\n"
                 "/adapters/0/capabilities/0/approval_mode must be read_only, local_write, network, delegated or "
                 "destructive");
  assert_refused(WITH(CAPABILITY("n", "act", "network") "," CAPABILITY("n", "act", "network")),
                 "/adapters/0/capabilities/1 the capability \"a.n\" is used twice");
  assert_refused(WITH("{'name':'n','class':'act','approval_mode':'network','scopes':'s','timeout_ms':0,'retry':{},"
                      "'risk':{'effect':'big'},'input_schema':'md5:1','default_idempotency':'no'}"),
                 "/adapters/0/capabilities/0/scopes must be a list of at most 1000 names\n"
                 "/adapters/0/capabilities/0/timeout_ms must be a whole number from 1 to 1000000000\n"
                 "/adapters/0/capabilities/0/retry needs the member \"max_attempts\"\n"
                 "/adapters/0/capabilities/0/risk/effect must be none, local_state, external_state or physical_world\n"
                 "/adapters/0/capabilities/0/input_schema must be \"sha256:\" and 64 hexadecimal digits\n"
                 "/adapters/0/capabilities/0/default_idempotency must be required or native");
}

static void an_error_in_permissions_refuses_the_file(void **state) {
  assert_refused(FILE_WITH("'permissions':[" PERMISSION("p", "nope", "") "]"),
                 "/permissions/0 no adapter registers the capability \"a.nope\"");
  assert_refused("{'permissions':[" PERMISSION("p", "kill", "") "]}",
                 "/permissions/0 no adapter registers the capability \"a.kill\"");
  assert_refused(FILE_WITH("'permissions':[" PERMISSION("p", "book", ",'approval_mode':'destructive'") "]"),
                 "/permissions/0 MODE_EXCEEDS_MAXIMUM: the approval mode destructive is above the capability's mode "
                 "delegated");
  assert_refused(FILE_WITH("'permissions':[" PERMISSION("p", "kill", "") "," PERMISSION("p", "book", "") "]"),
                 "/permissions/1 the permission_id \"p\" is used twice");
  assert_refused(FILE_WITH("'permissions':[" PERMISSION("p", "kill", ",'role':['x']") "]"),
                 "/permissions/0/role is an unknown member; did you mean \"roles\"?");
  assert_refused(FILE_WITH("'permissions':[" PERMISSION("p", "kill", ",'roles':['x',5]") "]"),
                 "/permissions/0/roles/1 must be a name");
  assert_refused(FILE_WITH("'permissions':[{'permission_id':'p','adapter_id':'a','capability':'kill'}]"),
                 "/permissions/0 needs the member \"allow\"");
  assert_refused(FILE_WITH("'permissions':[" PERMISSION("p", "kill", ",'arg_constraints':{'x':{'least':1}}") "]"),
                 "/permissions/0/arg_constraints/x/least is not a constraint; use required, min, max, enum, const, "
                 "pattern, minLength, maxLength, maxItems, format or unless_approved");
}

static void an_error_in_bundles_refuses_the_file(void **state) {
  assert_refused(
      FILE_WITH(ALL_PERMISSIONS ",'bundles':[{'bundle_id':'b','guardrails':{'must_refuse':['x']},'policy_dsl':{"
                                "'language':'jsonlogic','rules':[{'rule_id':'r','then':{'allow':true,'requires':['x'],"
                                "'prohibits':['a.kill']}}]}}]"),
      "/bundles/0/guardrails is not supported; refuse calls by rules, and escalate them by approval_gates\n"
      "/bundles/0/policy_dsl/rules/0/then/requires is not supported; write the condition into \"if\", or name "
      "a requires_approval_gate\n"
      "/bundles/0/policy_dsl/rules/0/then/prohibits is not supported; add a rule with \"allow\": false for "
      "these capabilities");
#define RULES(rules) FILE_WITH(ALL_PERMISSIONS "," BUNDLES(rules, GATE("G", "")))
#define PLACE "/bundles/0/policy_dsl/rules/"
  assert_refused(RULES(RULE("r", "true", "'allow':true,'requires_approval_gate':'H'")),
                 PLACE "0 no bundle defines the approval gate \"H\"");
  assert_refused(RULES(RULE("r", "true", "'allow':true,'approval_mode':'godlike'")),
                 PLACE "0/then/approval_mode must be read_only, local_write, network, delegated or destructive");
  assert_refused(RULES(RULE("r", "{'and':[{'nope':1}]}", "'allow':true")),
                 PLACE "0/if/and/0/nope unknown operator \"nope\"");
  assert_refused(RULES(RULE("r", "{'log':1}", "'allow':true")), PLACE "0/if/log unknown operator \"log\"");
  assert_refused(RULES(RULE("r", "true", "")), PLACE "0/then needs the member \"allow\"");
  assert_refused(RULES(RULE("r", "true", "'allow':true,'prohibit':['x']")),
                 PLACE "0/then/prohibit is an unknown member; did you mean \"prohibits\"?");
  assert_refused(RULES("{'rule_id':'r','then':{'allow':true},'applies_to':{'intents':['x']}}"),
                 PLACE "0/applies_to/intents is an unknown member; did you mean \"intent\"?");
  assert_refused(RULES(RULE("r", "true", "'allow':true") "," RULE("r", "true", "'allow':true")),
                 PLACE "1 the rule_id \"r\" is used twice");
  assert_refused(
      FILE_WITH("'bundles':[" BUNDLE("b", "1", "", GATE("G", "")) "," BUNDLE("b", "2", "", GATE("G", "")) "]"),
      "/bundles/1 the bundle_id \"b\" is used twice\n"
      "/bundles/1/approval_gates/0 the gate_id \"G\" is used twice");
  assert_refused(FILE_WITH("'bundles':[{'bundle_id':'b','priority':1.5,'policy_dsl':{'language':'rego','rules':[]},"
                           "'approval_gates':[{'gate_id':'G','quorum':0}]}]"),
                 "/bundles/0/priority must be a whole number\n/bundles/0/policy_dsl/language must be \"jsonlogic\"\n"
                 "/bundles/0/approval_gates/0/quorum must be a whole number from 1 to 1000000000\n"
                 "/bundles/0/approval_gates/0 needs the member \"required_approver_role\"");
}

static void marks_of_the_flow_guard_decide_after_everything_else(void **state) {
#define MARKED(mode) \
  "{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':[" \
  "{'name':'post','class':'act','approval_mode':'network','flow':['sends_out','untrusted_input']}]}]," \
  "'permissions':[{'permission_id':'p','adapter_id':'a','capability':'post','allow':true," \
  "'arg_constraints':{'n':{'max':1}}}]" mode "}"
  struct governance *g = governance_of(MARKED(""));
  const char *allowed = "ALLOWED effective=network rules=p at=/permissions/0";
  assert_decides(g, "{'capability':'a.post','flow':[]}", allowed);
  assert_decides(g, "{'capability':'a.post','flow':['sends_out','untrusted_input']}", allowed);
  assert_decides(g, "{'capability':'a.post','flow':['reads_private']}",
                 "FLOW_DENIED effective=network rules=p at=/adapters/0/capabilities/0/flow");
  assert_decides(g, "{'capability':'a.post','flow':['reads_private'],'args':{'n':2}}",
                 "ARG_CONSTRAINT_VIOLATION effective=network rules=p violations=n:max "
                 "at=/permissions/0/arg_constraints/n");
  governance_unref(&g);
  static const char *const without[] = {MARKED(",'flow':'off'"), MARKED(",'flow':{'mode':'warn'}")};
  for (size_t i = 0; i < 2; i++) {
    g = governance_of(without[i]);
    assert_decides(g, "{'capability':'a.post','flow':['reads_private']}", allowed);
    governance_unref(&g);
  }
}

static void an_error_in_versions_refuses_the_file(void **state) {
#define VERSIONED(server, versions) \
  "{'adapters':[{'adapter_id':'a','type':'MCP'" server ",'version':'1','versions':[" versions "],'capabilities':[]}]}"
  assert_refused(VERSIONED("", "{'version':'2','server':'s2'}"),
                 "/adapters/0 needs the member \"server\" to have versions");
  assert_refused(VERSIONED(",'server':'s'", "{'version':'2','server':'s'}"),
                 "/adapters/0/versions/0 the server \"s\" is used twice");
  assert_refused(VERSIONED(",'server':'s'", "{'version':'1','server':'s2'},{'version':'2','server':'s3','share':0}"),
                 "/adapters/0/versions/1/share must be a percentage above 0 and of at most 100\n"
                 "/adapters/0/versions/0 the version \"1\" is used twice");
  assert_refused(VERSIONED(",'server':'s'", "{'server':'s2'}"), "/adapters/0/versions/0 needs the member \"version\"");
}

static void an_error_in_marks_refuses_the_file(void **state) {
  assert_refused("{'flow':'on'}", "/flow must be off, warn or enforce");
  assert_refused("{'flow':{'marks':[{'flow':['sends_out']}]}}",
                 "/flow/marks/0 needs the member \"tools\" or \"servers\"");
  assert_refused("{'flow':{'marks':[{'servers':['s'],'flow':['sends_out','sends_out']}]}}",
                 "/flow/marks/0/flow must be a list of reads_private, untrusted_input and sends_out, "
                 "each at most once");
  assert_refused("{'flow':{'marks':[{'tools':['post'],'flow':['sends_out']}]}}",
                 "/flow/marks/0 the pattern \"post\" must have the form SERVER:TOOL");
  assert_refused("{'flow':{'scope':'run','keep_seconds':0}}",
                 "/flow/scope must be session or agent\n"
                 "/flow/keep_seconds must be a whole number from 1 to 1000000000");
}

static void many_permissions_of_other_capabilities_do_not_slow_a_decision(void **state) {
  enum { MANY = 20000 };
  struct buf b;
  buf_init(&b, 16 << 20);
  buf_str(&b, STR("{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':["));
  for (int i = 0; i < MANY; i++)
    buf_printf(&b, "%s{'name':'c%d','class':'recall','approval_mode':'read_only'}", i ? "," : "", i);
  buf_str(&b, STR("]}],'permissions':["));
  for (int i = 0; i < MANY; i++)
    buf_printf(&b, "%s{'permission_id':'p%d','adapter_id':'a','capability':'c%d','allow':true}", i ? "," : "", i, i);
  buf_str(&b, STR("]}"));
  buf_char(&b, 0);
  struct governance *g = governance_of(b.p), *same = governance_ref(g);
  for (int i = 0; i < MANY; i++) {  // takes minutes if each decision reads all permissions
    char id[16];
    snprintf(id, sizeof id, "a.c%d", i);
    const struct governance_capability *c = governance_find(g, str_of(id));
    assert_int_equal(c->permission_count, 1);
  }
  assert_decides(g, "{'capability':'a.c77'}", "ALLOWED effective=read_only rules=p77 at=/permissions/77");
  governance_unref(&g);
  assert_int_equal(governance_capability_count(same), MANY);
  governance_unref(&same);
  buf_done(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(modes_are_ordered_and_fit_their_class),
      cmocka_unit_test(the_permission_of_the_specification_decides),
      cmocka_unit_test(an_unknown_capability_is_refused),
      cmocka_unit_test(a_permission_must_match_and_a_denying_one_wins),
      cmocka_unit_test(bundles_apply_by_priority_and_a_denying_rule_wins),
      cmocka_unit_test(without_a_matching_rule_only_read_only_capabilities_pass),
      cmocka_unit_test(an_expression_sees_the_context_the_arguments_and_the_capability),
      cmocka_unit_test(a_failing_expression_denies_unless_it_does_not_enforce),
      cmocka_unit_test(expressions_of_one_decision_share_a_budget),
      cmocka_unit_test(the_effective_mode_follows_the_matrix),
      cmocka_unit_test(rules_for_one_capability_raise_it_only_up_to_its_highest_mode),
      cmocka_unit_test(the_lowest_mode_of_the_permissions_is_a_ceiling),
      cmocka_unit_test(no_rule_makes_an_act_read_only),
      cmocka_unit_test(constraints_of_all_that_matched_add_up),
      cmocka_unit_test(gates_come_from_rules_from_their_own_expression_and_from_waived_constraints),
      cmocka_unit_test(an_intent_allows_its_classes_only),
      cmocka_unit_test(members_that_the_context_does_not_have_are_not_checked),
      cmocka_unit_test(an_intent_also_limits_tools_that_no_adapter_lists),
      cmocka_unit_test(a_question_must_be_well_formed),
      cmocka_unit_test(an_adapter_has_all_its_fields),
      cmocka_unit_test(an_error_in_adapters_refuses_the_file),
      cmocka_unit_test(an_error_in_permissions_refuses_the_file),
      cmocka_unit_test(an_error_in_bundles_refuses_the_file),
      cmocka_unit_test(marks_of_the_flow_guard_decide_after_everything_else),
      cmocka_unit_test(an_error_in_versions_refuses_the_file),
      cmocka_unit_test(an_error_in_marks_refuses_the_file),
      cmocka_unit_test(many_permissions_of_other_capabilities_do_not_slow_a_decision),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
