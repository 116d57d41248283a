// SPDX-License-Identifier: Apache-2.0
// Plans: unknown arguments, the intent of a plan, read-only plans.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "govern/plan.h"
#include "governance_world.h"

static const char file_of_plans[] =
    "{'adapters':[{'adapter_id':'a','type':'MCP','capabilities':["
    "{'name':'look','class':'observe','approval_mode':'read_only'},"
    "{'name':'check','class':'verify','approval_mode':'network'},"
    "{'name':'pay','class':'act','approval_mode':'destructive'}]}],'permissions':["
    "{'permission_id':'p1','adapter_id':'a','capability':'look','allow':true},"
    "{'permission_id':'p2','adapter_id':'a','capability':'check','allow':true},"
    "{'permission_id':'p3','adapter_id':'a','capability':'pay','allow':true,'intents':['refund'],"
    "'arg_constraints':{'n':{'required':true,'max':5}}}]}";

// "s1 ALLOWED, s2 PERMISSION_DENIED"
static void assert_plan_with(const char *file, const char *text, const char *expected) {
  struct arena a;
  struct buf b;
  struct fault f = {0};
  struct governance_plan p;
  struct governance *g = governance_of(file);
  arena_init(&a);
  buf_init(&b, 1 << 16);
  if (!plan_read(governance_parse(&a, governance_quoted(&a, text)), NULL, &a, &p, &f))
    buf_printf(&b, "%s %s", f.path, f.message);
  else
    for (size_t i = 0; i < p.count; i++) {
      struct governance_decision d;
      plan_decide(g, &p, &a, &d);
      buf_printf(&b, "%s%.*s %s", i ? ", " : "", STR_ARG(p.steps[i].id), governance_code_name(d.code));
    }
  buf_char(&b, 0);
  assert_string_equal(b.p, expected);
  buf_done(&b);
  arena_done(&a);
  governance_unref(&g);
}

static void assert_plan(const char *text, const char *expected) {
  assert_plan_with(file_of_plans, text, expected);
}

// M03
static void a_read_only_plan_has_no_act(void **state) {
#define STEPS "'steps':[{'id':'x','capability':'a.look'},{'capability':'a.check'},{'capability':'a.pay'}]"
  assert_plan("{'intent':'read_only'," STEPS "}", "x ALLOWED, 2 ALLOWED, 3 CLASS_INTENT_CONFLICT");
  assert_plan("{'intent':'refund','read_only':true," STEPS "}", "x ALLOWED, 2 ALLOWED, 3 CLASS_INTENT_CONFLICT");
  assert_plan("{'intent':'refund'," STEPS "}", "x ALLOWED, 2 ALLOWED, 3 ALLOWED");
  assert_plan("{" STEPS "}", "x ALLOWED, 2 ALLOWED, 3 PERMISSION_DENIED");
}

static void a_plan_does_not_join_private_data_untrusted_input_and_a_way_out(void **state) {
  static const char marked[] =
      "{'adapters':[{'adapter_id':'a','type':'MCP','server':'s','capabilities':["
      "{'name':'mail','class':'observe','approval_mode':'read_only','flow':['reads_private']},"
      "{'name':'page','class':'observe','approval_mode':'read_only','flow':['untrusted_input']},"
      "{'name':'post','class':'observe','approval_mode':'read_only'}]}],"
      "'flow':{'marks':[{'tools':['s:po*'],'flow':['sends_out']}]},'permissions':["
      "{'permission_id':'p1','adapter_id':'a','capability':'mail','allow':true},"
      "{'permission_id':'p2','adapter_id':'a','capability':'page','allow':true},"
      "{'permission_id':'p3','adapter_id':'a','capability':'post','allow':true}]}";
  assert_plan_with(marked,
                   "{'steps':[{'capability':'a.mail'},{'capability':'a.post'},{'capability':'a.page'},"
                   "{'capability':'a.post'}]}",
                   "1 ALLOWED, 2 ALLOWED, 3 FLOW_DENIED, 4 ALLOWED");
  assert_plan_with(marked, "{'steps':[{'capability':'a.mail'},{'capability':'a.page','flow':['sends_out']}]}",
                   "/steps/1/flow is an unknown member");
}

// M04
static void a_verification_in_a_read_only_plan_still_obeys_the_ceiling_of_the_run(void **state) {
  assert_plan("{'intent':'read_only','context':{'safety_mode':'network'}," STEPS "}",
              "x ALLOWED, 2 ALLOWED, 3 CLASS_INTENT_CONFLICT");
  assert_plan("{'intent':'read_only','context':{'safety_mode':'read_only'}," STEPS "}",
              "x ALLOWED, 2 MODE_ABOVE_RUN_CEILING, 3 CLASS_INTENT_CONFLICT");
}

static void arguments_that_are_not_known_yet_are_no_violation(void **state) {
  assert_plan("{'intent':'refund','steps':[{'capability':'a.pay','args':{}},{'capability':'a.pay','args':{'n':9}},"
              "{'capability':'a.pay','args_complete':true},{'capability':'a.pay','args':{'n':5},'args_complete':true},"
              "{'capability':'a.nope'}]}",
              "1 ALLOWED, 2 ARG_CONSTRAINT_VIOLATION, 3 ARG_CONSTRAINT_VIOLATION, 4 ALLOWED, 5 CAPABILITY_UNKNOWN");
}

static void a_plan_has_no_class_that_its_intent_excludes(void **state) {
  static const char file[] =
      "{'intents':{'audit':{'classes':['verify']}},'adapters':[{'adapter_id':'a','type':'MCP','capabilities':["
      "{'name':'look','class':'observe','approval_mode':'read_only'},"
      "{'name':'check','class':'verify','approval_mode':'network'}]}],'permissions':["
      "{'permission_id':'p1','adapter_id':'a','capability':'look','allow':true},"
      "{'permission_id':'p2','adapter_id':'a','capability':'check','allow':true}]}";
#define TWO "'steps':[{'capability':'a.look'},{'capability':'a.check'}]}"
  assert_plan_with(file, "{'intent':'audit'," TWO, "1 CLASS_INTENT_CONFLICT, 2 ALLOWED");
  assert_plan_with(file, "{'intent':'audit','context':{'intent':'other'}," TWO, "1 CLASS_INTENT_CONFLICT, 2 ALLOWED");
  assert_plan_with(file, "{'intent':'other'," TWO, "1 ALLOWED, 2 ALLOWED");
}

static void a_denied_step_adds_no_marks(void **state) {
  static const char marked[] =
      "{'adapters':[{'adapter_id':'a','type':'MCP','server':'s','capabilities':["
      "{'name':'mail','class':'observe','approval_mode':'read_only','flow':['reads_private']},"
      "{'name':'page','class':'observe','approval_mode':'read_only','flow':['untrusted_input','sends_out']}]}],"
      "'permissions':[{'permission_id':'p1','adapter_id':'a','capability':'mail','allow':true,"
      "'arg_constraints':{'n':{'max':5}}},{'permission_id':'p2','adapter_id':'a','capability':'page','allow':true}]}";
  assert_plan_with(marked,
                   "{'steps':[{'capability':'a.mail','args':{'n':9}},{'capability':'a.page'},"
                   "{'capability':'a.mail','args':{'n':5}}]}",
                   "1 ARG_CONSTRAINT_VIOLATION, 2 ALLOWED, 3 FLOW_DENIED");
}

static void the_intent_of_the_context_comes_first(void **state) {
  assert_plan("{'intent':'other','context':{'intent':'refund'},'steps':[{'capability':'a.pay'}]}", "1 ALLOWED");
  assert_plan("{'intent':'refund','context':{'intent':'other'},'steps':[{'capability':'a.pay'}]}",
              "1 PERMISSION_DENIED");
  assert_plan("{'intent':'refund','context':{'intent':null},'steps':[{'capability':'a.pay'}]}", "1 ALLOWED");
}

static void a_malformed_plan_is_refused_with_its_place(void **state) {
  assert_plan("[]", " a plan must be an object");
  assert_plan("{'step':[]}", "/step is an unknown member");
  assert_plan("{}", "/steps must be a list of at most 1000 steps");
  assert_plan("{'intent':5,'steps':[]}", "/intent must be a string");
  assert_plan("{'read_only':'yes','steps':[]}", "/read_only must be true or false");
  assert_plan("{'context':{'safety_mode':'x'},'steps':[]}",
              "/context context.safety_mode must be an approval mode, such as read_only");
  assert_plan("{'steps':[5]}", "/steps/0 must be an object");
  assert_plan("{'steps':[{'capability':'a.look','arg':{}}]}", "/steps/0/arg is an unknown member");
  assert_plan("{'steps':[{'capability':'a.look','args':[]}]}", "/steps/0 args must be an object");
  assert_plan("{'steps':[{'capability':'a.look','id':7}]}", "/steps/0 id must be a string");
  assert_plan("{'steps':[]}", "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_read_only_plan_has_no_act),
      cmocka_unit_test(a_plan_does_not_join_private_data_untrusted_input_and_a_way_out),
      cmocka_unit_test(a_verification_in_a_read_only_plan_still_obeys_the_ceiling_of_the_run),
      cmocka_unit_test(arguments_that_are_not_known_yet_are_no_violation),
      cmocka_unit_test(a_plan_has_no_class_that_its_intent_excludes),
      cmocka_unit_test(a_denied_step_adds_no_marks),
      cmocka_unit_test(the_intent_of_the_context_comes_first),
      cmocka_unit_test(a_malformed_plan_is_refused_with_its_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
